type Manifest = Readonly<Record<string, unknown>>;
type Package = { readonly name: string; readonly version: string; readonly licence: string };
type Names = Readonly<Record<string, readonly string[]>>;
type Sizes = Readonly<Record<string, number>>;
export const OWNER_FIELDS: readonly string[];
export function emptyOwnerFields(manifest: Manifest): string[];
export function partsOf(version: string): [number, number, number];
export function compareVersions(one: string, other: string): number;
export function sectionsOf(changelog: string): {
  readonly version: string;
  readonly date: string | undefined;
  readonly text: string;
}[];
export function changelogProblems(changelog: string, version: string): string[];
export function mayRemoveNames(before: string, version: string): boolean;
export function namesMissingFrom(names: Names, others: Names): string[];
export function grownSizes(
  before: Sizes,
  after: Sizes,
  share: number,
): { readonly name: string; readonly before: number; readonly after: number }[];
export function isAllowedLicence(expression: string): boolean;
export function bundledPackages(licences: string): Package[];
export function componentOf(
  found: Package,
  scope: 'required' | 'optional',
): Readonly<Record<string, unknown>>;
