// Defaults from the environment, for options that the program leaves out.
export const isNode = typeof process === 'object' && Boolean(process.versions?.node);

const DEFAULT_HUB = 'tcp://127.0.0.1:7411';

// A variable of the environment; an empty one is none.
const variable = (name) => (isNode && process.env[name]) || undefined;

export const processId = isNode ? process.pid : null;
export const defaultHub = () => variable('PATCHBAY_HUB') ?? (isNode ? DEFAULT_HUB : undefined);
export const defaultToken = () => variable('PATCHBAY_TOKEN');
export const defaultAuthorities = () => variable('PATCHBAY_TLS_CA');
