/** The known formats. An importer is one file, and one line here. */
import { catBoost } from './formats/catboost.ts';
import { aim } from './formats/aim.ts';
import { clearMl } from './formats/clearml.ts';
import { comet } from './formats/comet.ts';
import { csv } from './formats/csv.ts';
import { dvclive } from './formats/dvclive.ts';
import { huggingFaceTrainer } from './formats/hugging-face-trainer.ts';
import { jsonCurves } from './formats/json-curves.ts';
import { jsonLinesImporter } from './formats/json-lines.ts';
import { mlflow } from './formats/mlflow.ts';
import { monitor } from './formats/monitor.ts';
import { notebook } from './formats/notebook.ts';
import { pickle } from './formats/pickle.ts';
import { quarkProfiler } from './formats/quark-profiler.ts';
import { quarkArrow } from './formats/quark-arrow.ts';
import { parquet } from './formats/parquet.ts';
import { quarkFile } from './formats/quark-file.ts';
import { ray } from './formats/ray.ts';
import { sacred } from './formats/sacred.ts';
import { tensorBoard } from './formats/tensorboard.ts';
import { textLog } from './formats/text-log.ts';
import { track } from './formats/track.ts';
import { wandbLegacy } from './formats/wandb-legacy.ts';
import { trackio } from './formats/trackio.ts';
import { wandb } from './formats/wandb.ts';
import type { Importer } from './sink/importer.ts';

/** In the order in which they are asked; of two that are equally sure the first reads the file. */
export const IMPORTERS: readonly Importer[] = [
  huggingFaceTrainer,
  csv,
  jsonLinesImporter,
  textLog,
  tensorBoard,
  quarkArrow,
  parquet,
  quarkFile,
  trackio,
  mlflow,
  dvclive,
  sacred,
  track,
  quarkProfiler,
  wandbLegacy,
  wandb,
  notebook,
  catBoost,
  monitor,
  ray,
  pickle,
  comet,
  clearMl,
  aim,
  jsonCurves,
];

/** Names of the known formats, as `format` of the options takes them. */
export const FORMAT_NAMES: readonly string[] = IMPORTERS.map(({ format }) => format);
