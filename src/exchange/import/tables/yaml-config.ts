/** Settings in files of YAML. */
import { QuarkError } from '../../../base/errors.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext } from '../sink/importer.ts';
import { parseYaml } from '../../../codecs/yaml/yaml.ts';

/** Whether a file says by its name that it is YAML. */
export function isYamlName(path: string): boolean {
  return /\.ya?ml$/i.test(path);
}

/** A file of YAML as a value; what is not understood in it is reported. @throws {QuarkError} `invalid_input` when it is too large */
export async function readYamlFile(file: InputFile, context: ImportContext): Promise<unknown> {
  const { maxYamlBytes, maxDepth } = context.limits;
  if (file.sizeBytes > maxYamlBytes) {
    throw new QuarkError(
      'invalid_input',
      `The file has ${file.sizeBytes} bytes; a YAML file may have ${maxYamlBytes} (limits.maxYamlBytes).`,
    );
  }
  const text = new TextDecoder().decode(await file.slice(0, file.sizeBytes));
  const { value, problems } = parseYaml(text, maxDepth);
  for (const { line, reason } of problems)
    context.problem({ file: file.path, place: `line ${line}`, reason });
  return value;
}

/** The settings in a file of YAML; none when it is no mapping, which is reported. */
export async function configFromYaml(
  file: InputFile,
  context: ImportContext,
): Promise<Record<string, unknown>> {
  const value = await readYamlFile(file, context);
  if (value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return { ...value };
  context.problem({ file: file.path, place: null, reason: 'It is no mapping of settings.' });
  return {};
}
