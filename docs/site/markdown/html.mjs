// Text in HTML, and HTML as text.

const NAMED = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text as it stands in an element or an attribute in double quotes. */
export const escapeHtml = (text) => String(text).replaceAll(/[&<>"]/g, (sign) => NAMED[sign]);

const SIGNS = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' };

/** The text of an element: without tags, with one space where there were several. */
export const textOf = (html) =>
  html
    .replaceAll(/<(?:svg|style|script|button)\b[\s\S]*?<\/(?:svg|style|script|button)>/g, ' ')
    .replaceAll(
      /<\/?(?:p|div|li|ul|ol|td|th|tr|dt|dd|dl|pre|h\d|table|summary|br|section)\b[^>]*>/g,
      ' ',
    )
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(amp|lt|gt|quot|nbsp);/g, (_, name) => SIGNS[name])
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll(/&#x([0-9a-f]+);/gi, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll(/\s+/g, ' ')
    .trim();
