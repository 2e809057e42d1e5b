/** What requests about keys, shares and quotas may name, as schemas. */
import { KEY_SCOPES, RUN_ACCESS } from './access-messages.ts';
import { text } from './route-parts.ts';
import type { Schema } from './schemas.ts';

const access: Schema = { enum: RUN_ACCESS };
const scope: Schema = { enum: KEY_SCOPES };
const ownUser: Schema = { ...text, description: 'The user of the key that asks; no other.' };

/** What a request for a key may name. */
export const newKeyFields = {
  user: ownUser,
  scope: { ...scope, description: '`write` unless given.' },
  label: { ...text, description: 'What the key is for.' },
  expires_at_ms: {
    type: ['number', 'string', 'null'],
    description:
      'When it ends: epoch milliseconds or ISO 8601; null: never. With the key that asks unless given, and never later than that one.',
  },
} as const;

/** What a request for a share may name. */
export const newShareFields = {
  owner: ownUser,
  space: { ...text, description: '`default` unless given.' },
  project: text,
  user: text,
  access: { ...access, description: '`read` unless given.' },
} as const;

const most: Schema = { type: ['integer', 'null'], minimum: 0 };

/** What a request for a quota may name. */
export const newQuotaFields = {
  user: ownUser,
  space: { ...text, description: '`default` unless given.' },
  project: text,
  bytes: {
    ...most,
    description: 'Most bytes of segments; null: no limit; as before unless given.',
  },
  runs: { ...most, description: 'Most runs.' },
  segments: { ...most, description: 'Most segments.' },
} as const;
