export function bundle(
  entry: string,
  options?: { readonly forNode?: boolean; readonly folder?: string },
): Promise<string>;
