/** The environment of a run in words and units that people read. */
import { formatDuration } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';

/** Fields whose names are not what one calls them. */
const NAMES: Readonly<Record<string, () => string>> = {
  quark_version: () => 'Quark',
  node_version: () => 'Node.js',
  operating_system: () => t('system'),
  hostname: () => t('host'),
  process_id: () => t('process'),
  cpu_model: () => t('processor'),
  logical_processors: () => t('processor threads'),
  ram_total_bytes: () => t('memory'),
  device_memory_gib: () => t('memory, at least'),
  is_cross_origin_isolated: () => t('cross-origin isolated'),
  git_branch: () => t('branch'),
  git_has_changes: () => t('uncommitted changes'),
  platform: () => t('platform'),
  architecture: () => t('architecture'),
  time_zone: () => t('time zone'),
  user_agent: () => t('browser'),
};

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** The environment with the names and values that are shown. Fields that it does not know have their names without underscores. */
export function environmentWords(
  environment: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(environment).map(([field, value]) => {
      const name =
        NAMES[field]?.() ?? field.replace(/_(bytes|ms|percent)$/, '').replaceAll('_', ' ');
      return [name, wordOf(field, value)];
    }),
  );
}

function wordOf(field: string, value: unknown): unknown {
  if (typeof value === 'boolean') return value ? t('yes') : t('no');
  if (typeof value !== 'number' || !Number.isFinite(value)) return value;
  if (field.endsWith('_bytes')) return binaryBytes(value);
  if (field.endsWith('_ms')) return formatDuration(value);
  if (field.endsWith('_gib')) return `${value} GiB`;
  return field.endsWith('_percent') ? `${value} %` : value;
}

/** `23.5 GiB`: what memory is counted in. */
export function binaryBytes(bytes: number): string {
  const power = Math.min(
    UNITS.length - 1,
    Math.max(0, Math.floor(Math.log2(Math.abs(bytes) || 1) / 10)),
  );
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${UNITS[power] ?? 'B'}`;
}
