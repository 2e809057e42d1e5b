// README.md as it is in the package: the page of a registry shows it beside no other file of the repository. With `repository` in
// package.json its links and pictures lead there; without, a link to a file that is not packed is its words, and a picture what it shows.

/** The address of the repository in a browser, or undefined while its owner has not filled the field. */
export function repositoryUrl({ repository }) {
  const url = typeof repository === 'object' ? repository?.url : repository;
  return url
    ? url
        .replace(/^git\+/, '')
        .replace(/^git@([^:]+):/, 'https://$1/')
        .replace(/\.git$/, '')
    : undefined;
}

const isElsewhere = (link) => /^[a-z][a-z+.-]*:|^\/\/|^#/i.test(link);

/** Links and pictures of Markdown outside of code. */
function turned(text, { isPacked, url }) {
  const address = (kind, link) =>
    isElsewhere(link) || isPacked(link.split('#')[0]) ? link : url && `${url}/${kind}/main/${link}`;
  return text
    .replaceAll(/<picture>[\s\S]*?<\/picture>\n?/g, (picture) =>
      url === undefined
        ? ''
        : picture.replaceAll(
            /\b(src|srcset)="([^"]+)"/g,
            (_, name, link) => `${name}="${address('raw', link)}"`,
          ),
    )
    .replaceAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_, alt, link) => {
      const image = address('raw', link);
      return image === undefined ? alt : `![${alt}](${image})`;
    })
    .replaceAll(/\[((?:!\[[^\]]*\]\([^)]*\)|[^[\]])+)\]\(([^)\s]+)\)/g, (_, words, link) => {
      const href = address('blob', link);
      return href === undefined ? words : `[${words}](${href})`;
    });
}

/**
 * The text of README.md for the package.
 *
 * @param url address of the repository, or undefined
 * @param isPacked whether a file is in the package
 */
export function packedReadme(text, { isPacked, url }) {
  return text
    .split(/^(```[\s\S]*?^```$)/m)
    .map((part, at) => (at % 2 === 0 ? turned(part, { isPacked, url }) : part))
    .join('');
}
