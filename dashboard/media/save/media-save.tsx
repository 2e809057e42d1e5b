/** The ways to save a medium that is drawn: a picture, lines, and the numbers that it was drawn from. */
import type { JSX } from 'preact';
import type { SvgFile } from '../../charts/chart-svg.ts';
import { csvBlob, type CsvCell } from '../../charts/save/save-csv.ts';
import { downloadName, saveBlob } from '../../charts/save/save-file.ts';
import { SaveMenu, type SaveWay } from '../../charts/save/save-menu.tsx';
import { pngOfSvg } from '../../charts/save/save-png.ts';
import { t } from '../../parts/t.ts';
import '../../charts/save/save.css';

/** The numbers of a medium, a row each. */
export type MediaTable = {
  readonly header: readonly string[];
  readonly rows: Iterable<readonly CsvCell[]>;
};

/** What a medium can be saved as; asked when somebody saves. */
export type MediaFiles = {
  /** Lines and texts; a PNG is made of them. */
  readonly svg?: () => SvgFile;
  /** A picture of what is no lines, such as a cloud of points. */
  readonly png?: () => Promise<Blob>;
  readonly table: () => MediaTable;
};

/** The button with the menu. */
export function MediaSave(props: {
  readonly name: string;
  readonly files: MediaFiles;
}): JSX.Element {
  return (
    <div class="row media-save">
      <SaveMenu name={props.name} ways={() => waysToSave(props.name, props.files)} />
    </div>
  );
}

function waysToSave(name: string, { png, svg, table }: MediaFiles): readonly SaveWay[] {
  const picture = async (): Promise<Blob | undefined> => {
    if (svg === undefined) return png?.();
    const file = svg();
    return pngOfSvg(file.svg, file.width, file.height);
  };
  const lines: SaveWay[] =
    svg === undefined
      ? []
      : [
          {
            label: 'SVG',
            hint: t('a drawing of lines'),
            save: () => {
              const file = new Blob([svg().svg], { type: 'image/svg+xml' });
              saveBlob(downloadName([name], 'svg'), file);
            },
          },
        ];
  return [
    {
      label: 'PNG',
      hint: t('a picture'),
      save: async () => {
        const file = await picture();
        if (file !== undefined) saveBlob(downloadName([name], 'png'), file);
      },
    },
    ...lines,
    {
      label: 'CSV',
      hint: t('the numbers of what is shown'),
      save: async () => {
        const { header, rows } = table();
        saveBlob(downloadName([name], 'csv'), await csvBlob(header, rows));
      },
    },
  ];
}
