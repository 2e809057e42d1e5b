/** The known formats. An importer is one file, and one line here. */
import { csv } from './formats/csv.ts';
import { huggingFaceTrainer } from './formats/hugging-face-trainer.ts';
import { jsonLines } from './formats/json-lines.ts';
import { mlflow } from './formats/mlflow.ts';
import { tensorBoard } from './formats/tensorboard.ts';
import { textLog } from './formats/text-log.ts';
import type { Importer } from './importer.ts';

/** In the order in which they are asked; of two that are equally sure the first reads the file. */
export const IMPORTERS: readonly Importer[] = [
  huggingFaceTrainer,
  csv,
  jsonLines,
  textLog,
  tensorBoard,
  mlflow,
];
