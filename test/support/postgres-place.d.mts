export function serversFolder(): string;
export function postgresPackage(): { readonly entry: string; readonly native: string };
