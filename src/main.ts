/**
 * The program. Everything else is imported when it is known what is asked for: a child process that hosts an instance
 * starts from here as well, and has no use for the server.
 */
import { INSTANCE_HOST_ARGUMENT } from "./instance-host-argument.ts";

async function runCommandLine(argv: readonly string[]): Promise<void> {
  const { parseCommandLine } = await import("./options.ts");
  const { fullHelp, SHORT_HELP } = await import("./options/help.ts");
  const { SERVER_VERSION } = await import("./version.ts");
  const command = parseCommandLine(argv, process.env);
  switch (command.kind) {
    case "help":
      process.stdout.write(command.isFull ? fullHelp() : SHORT_HELP);
      return;
    case "version":
      process.stdout.write(`tribune ${SERVER_VERSION}\n`);
      return;
    case "serve": {
      const { serve } = await import("./serve.ts");
      await serve(command.options, command.warnings);
      return;
    }
  }
}

const argv = process.argv.slice(2);
if (argv[0] === INSTANCE_HOST_ARGUMENT) {
  await import("./instance-host.ts");
} else {
  try {
    await runCommandLine(argv);
  } catch (thrown) {
    if (!(thrown instanceof Error && thrown.name === "OptionError")) throw thrown;
    process.stderr.write(`tribune: ${thrown.message}\n\`tribune help serve\` lists all flags\n`);
    process.exit(1);
  }
}
