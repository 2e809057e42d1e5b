export function packPackage(folder: string): {
  readonly tarball: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: number;
};
export function unpackInto(project: string, tarball: string): string;
