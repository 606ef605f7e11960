import channel from "./stub/tribune_channel.py" with { type: "text" };
import request from "./stub/tribune_request.py" with { type: "text" };
import services from "./stub/tribune_services.py" with { type: "text" };
import stub from "./stub/tribune_stub.py" with { type: "text" };
import tensor from "./stub/tribune_tensor.py" with { type: "text" };
import utils from "./stub/triton_python_backend_utils.py" with { type: "text" };

/** The modules of a Python instance's process, by file name; part of the executable. */
export const STUB_FILES: Readonly<Record<string, string>> = {
  "tribune_channel.py": channel,
  "tribune_request.py": request,
  "tribune_services.py": services,
  "tribune_stub.py": stub,
  "tribune_tensor.py": tensor,
  "triton_python_backend_utils.py": utils,
};
