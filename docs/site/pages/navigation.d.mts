/** A page of a document. */
export type DocumentPage = {
  readonly file: string;
  readonly address: string;
  readonly title: string;
};
export type Section = {
  readonly title: string;
  readonly about: string;
  readonly made: string | undefined;
  readonly pages: readonly DocumentPage[];
};
export type DeclaredSection = {
  readonly title: string;
  readonly about: string;
  readonly made?: string;
  readonly joins?: string;
  readonly pages?: readonly string[];
};
export function readNavigation(declared?: {
  readonly sections: readonly DeclaredSection[];
  readonly leftOut: readonly string[];
}): { readonly sections: readonly Section[]; readonly problems: readonly string[] };
export function pageOf(file: string, readText?: (file: string) => string): DocumentPage;
