/**
 * First argument by which the compiled executable knows that it is a child that hosts an instance. In a file of its own,
 * because it is read before anything else is loaded.
 */
export const INSTANCE_HOST_ARGUMENT = "instance-host";
