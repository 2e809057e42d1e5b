export function serversFolder(): string;
