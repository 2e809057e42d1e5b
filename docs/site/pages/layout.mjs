// What stands around the text of a page: the menu, the page before and the next, the title.
import { baseOf, linkBetween } from './addresses.mjs';

/** A page in the menu of another: pages below another show where that or one of its siblings is open. */
function entryOf(page, current) {
  return {
    title: page.label ?? page.title,
    href: linkBetween(current.address, page.address),
    isCurrent: page.address === current.address,
    isBelow: (page.depth ?? 0) > 0,
  };
}

function isListed(page, current) {
  if ((page.depth ?? 0) === 0) return true;
  return page.under === current.address || page.under === current.under;
}

function menuOf(sections, current) {
  return sections.map(({ title, pages }) => {
    const isCurrent = pages.includes(current);
    const shown = isCurrent && pages.length > 1 ? pages : [];
    return {
      title,
      href: linkBetween(current.address, pages[0].address),
      isCurrent,
      isPage: isCurrent && pages.length === 1,
      pages: shown.filter((page) => isListed(page, current)).map((page) => entryOf(page, current)),
    };
  });
}

/**
 * What the layout needs of one page.
 *
 * @param address of the page
 * @param sections the navigation
 * @param home the first page, which is in no section
 * @param repositoryUrl for the link to the file, if there is one
 */
export function layoutOf(address, { sections, home, repositoryUrl }) {
  const pages = sections.flatMap((section) => section.pages);
  const at = pages.findIndex((page) => page.address === address);
  const current = pages[at] ?? home;
  const beside = (page) =>
    page && { title: page.title, href: linkBetween(current.address, page.address) };
  const section = sections.find((one) => one.pages.includes(current));
  return {
    base: baseOf(current.address),
    isHome: current === home,
    title: current === home ? 'Quark: documentation' : `${current.title} · Quark`,
    section: section?.title,
    menu: menuOf(sections, current),
    before: at > 0 ? beside(pages[at - 1]) : undefined,
    next: beside(pages[at + 1]),
    edit: repositoryUrl && current.file ? `${repositoryUrl}/edit/main/${current.file}` : undefined,
  };
}
