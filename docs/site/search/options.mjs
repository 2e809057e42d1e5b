// How texts are cut into words, and how matches are ranked: one declaration for the index and for the page that searches.

/** Words of a text in the index; of a name such as `logColumns` the whole and its parts. */
export function wordsOf(text) {
  return text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => {
    const parts = word.split(/_|(?<=[a-z\d])(?=[A-Z])/);
    return word === '' ? [] : parts.length > 1 ? [word, ...parts.filter(Boolean)] : [word];
  });
}

export const SEARCH_OPTIONS = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'address', 'section', 'excerpt', 'weight'],
  tokenize: wordsOf,
};
