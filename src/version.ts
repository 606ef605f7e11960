import { version } from "../package.json";

/** Version of this program. */
export const SERVER_VERSION: string = version;
