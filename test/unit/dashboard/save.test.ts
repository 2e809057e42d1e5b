import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvBlob, csvLine } from '../../../dashboard/charts/save/save-csv.ts';
import { downloadName } from '../../../dashboard/charts/save/save-file.ts';
import { svgDocument, svgTag, svgText } from '../../../dashboard/charts/save/save-svg.ts';
import { runs } from '../../support/property.ts';

/** RFC 4180, read letter by letter. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (isQuoted && letter === '"' && text[at + 1] === '"') cell += text[(at += 1)];
    else if (letter === '"') isQuoted = !isQuoted;
    else if (isQuoted || (letter !== ',' && letter !== '\r')) cell += letter;
    else {
      row.push(cell);
      cell = '';
      if (letter === ',') continue;
      rows.push(row);
      row = [];
      at += 1;
    }
  }
  return rows;
}

describe('CSV', () => {
  it('quotes what needs it, and writes out what is not a number', () => {
    expect(csvLine(['a,b', 'say "hi"', 'x\ny', null, undefined])).toBe(
      '"a,b","say ""hi""","x\ny",,\r\n',
    );
    expect(csvLine([0.1, 1e-7, Number.NaN, Number.POSITIVE_INFINITY, -0])).toBe(
      '0.1,1e-7,NaN,Infinity,-0\r\n',
    );
  });

  it('has no text that a spreadsheet carries out', () => {
    for (const text of ['=1+1', '+1', '-1', '@x', '\tx'])
      expect(csvLine([text])[0]).not.toBe(text[0]);
    expect(csvLine([-1])).toBe('-1\r\n');
  });

  it('is read back as it was written', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme' }).filter((text) => !/^[=+\-@\t\r]/.test(text)),
      fc.double({ noNaN: true }).map(String),
    );
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1 }),
        (rows) => {
          expect(readCsv(rows.map((row) => csvLine(row)).join(''))).toEqual(
            rows.map((row) => row.map((text) => (text.startsWith('-') ? `'${text}` : text))),
          );
        },
      ),
      runs(200),
    );
  });

  it('has all rows, after what is to be said of them', async () => {
    const rows = Array.from({ length: 4_500 }, (_, at) => [at, at / 3]);
    const text = await (await csvBlob(['x', 'y'], rows, ['downsampled'])).text();
    const lines = text.trimEnd().split('\r\n');
    expect(lines.slice(0, 3)).toEqual(['# downsampled', 'x,y', '0,0']);
    expect(lines).toHaveLength(4_502);
    expect(lines.at(-1)).toBe(`4499,${4499 / 3}`);
  });
});

describe('names of files', () => {
  it('have no separators', () => {
    expect(downloadName(['train/loss', 'run 7'], 'png')).toBe('train-loss_run-7.png');
    expect(downloadName(['../../etc/passwd'], 'csv')).toBe('etc-passwd.csv');
    expect(downloadName(['', '///'], 'svg')).toBe('chart.svg');
    expect(downloadName(['con'], 'svg')).toBe('chartcon.svg');
  });
  it('are short whatever they are made of', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (words) => {
        const name = downloadName(words, 'csv');
        expect(name).toMatch(/^[\p{L}\p{N}][\p{L}\p{N}._-]*\.csv$/u);
        expect(Array.from(name).length).toBeLessThanOrEqual(70);
      }),
      runs(200),
    );
  });
});

describe('SVG', () => {
  it('has names from a run as text only', () => {
    const hostile = `"><script>alert(1)</script>&\u0000\uD800`;
    const svg = svgDocument(
      { width: 10, height: 10, title: hostile, background: '#fff', fontFamily: `a"b` },
      svgTag('text', { x: 1.23456, fill: hostile }, svgText(hostile)),
    );
    expect(svg).not.toContain('<script');
    for (const letter of ['\u0000', '\uD800']) expect(svg).not.toContain(letter);
    expect(svg).toContain('x="1.23"');
    expect(svg).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;"');
  });
  it('leaves out attributes that are not there, and writes 0 for what is no coordinate', () => {
    expect(svgTag('g', { a: undefined, x: Number.NaN })).toBe('<g x="0"/>');
  });
});
