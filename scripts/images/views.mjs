// Every view of the page: its name, its address and the selector of an element that is there once the view is complete. The images
// of the documentation and the tests of every view (test/e2e/every-view.test.ts) go through the same list.

/** Kinds of media, and what appears once they are drawn. */
const MEDIA = [
  ['images', '.picture img'],
  ['tables', '.data-rows td'],
  ['texts', '.text-body pre, .markdown'],
  ['audio', 'audio'],
  ['confusion', '.confusion-cells'],
  ['curves', '.unit-curve'],
  ['distributions', '.histogram-heat canvas'],
  ['embeddings', '.cloud canvas'],
  ['models', '.model-node'],
];

/** Views of one store: `runs` says which run stands for what. */
export function viewsOf({ compared, media, probed, broken, profiled, batches, report, group }) {
  const run = (id, view) => `#/runs/${id}?view=${view}`;
  const compare = (tab) => `#/compare?runs=${compared.join()}&tab=${tab}`;
  return [
    { name: 'runs', hash: '#/', sign: '.run-row .spark path' },
    { name: 'runs-grouped', hash: `#/?group=${group}`, sign: '.group-row, .run-row' },
    { name: 'runs-deleted', hash: '#/?list=deleted', sign: 'h1' },
    { name: 'run', hash: run(probed.id, 'metrics'), sign: '.panel canvas' },
    { name: 'analysis', hash: run(broken, 'analysis'), sign: '.health' },
    {
      name: 'layers',
      hash: `${run(probed.id, 'layers')}&layer=${probed.layer}`,
      sign: '.layer-detail canvas',
    },
    { name: 'machine', hash: run(profiled, 'machine'), sign: '.waterfall-bar' },
    { name: 'console', hash: run(profiled, 'console'), sign: '.console-line' },
    { name: 'code', hash: run(profiled, 'code'), sign: '.code-facts' },
    ...MEDIA.map(([kind, sign]) => ({
      name: `media-${kind}`,
      hash: `${run(media, 'media')}&media=${kind}`,
      sign,
    })),
    { name: 'artifacts', hash: run(media, 'artifacts'), sign: '.artifact-row' },
    { name: 'batches', hash: run(batches, 'batches'), sign: '.exposure tbody tr, .how-to' },
    { name: 'compare', hash: compare('charts'), sign: '.panel canvas' },
    { name: 'compare-values', hash: compare('values'), sign: '.value-cell' },
    {
      name: 'compare-settings',
      hash: compare('settings'),
      sign: '.compare-settings .section-head',
    },
    { name: 'compare-phases', hash: compare('phases'), sign: '.score-status' },
    { name: 'compare-parallel', hash: compare('parallel'), sign: '.parallel-grip' },
    { name: 'compare-scatter', hash: compare('scatter'), sign: '.scatter' },
    { name: 'compare-importance', hash: compare('importance'), sign: '.compare-importance' },
    { name: 'reports', hash: '#/reports', sign: '.report-list a' },
    {
      name: 'report',
      hash: `#/reports/${report.project}/${report.id}`,
      sign: '.report-body .panel canvas',
    },
    { name: 'train', hash: '#/train', sign: 'form' },
  ];
}
