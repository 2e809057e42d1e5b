export function repositoryUrl(manifest: { readonly repository?: unknown }): string | undefined;
export function packedReadme(
  text: string,
  settings: {
    readonly url: string | undefined;
    readonly isPacked: (file: string) => boolean;
  },
): string;
