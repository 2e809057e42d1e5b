/**
 * Answers to changes that cannot be carried out twice without harm: a table that is replaced once more, long after, loses
 * what was appended meanwhile. What stands between client and server may repeat and delay requests; each has a name.
 */
import { invalidInput } from '../../base/errors.ts';
import type { WireContext } from './answers.ts';
import { REQUEST_HEADER } from '../../wire/protocol.ts';

/** Changes that are remembered: minutes of work of many clients. */
const MAX_ANSWERS = 4_096;
/** Characters of their answers: with a run comes its document, which may have millions. */
const MAX_CHARS = 16 * 1024 * 1024;
const NAME = /^[A-Za-z0-9_-]{16,64}$/;

/** Remembers the last answers of one process. */
export class AnswerMemory {
  readonly #answers = new Map<
    string,
    { readonly answer: Promise<object>; readonly chars: number }
  >();
  #chars = 0;

  /**
   * What `work` comes to, or came to when the request arrived before. Failures are not remembered.
   *
   * @param chars about how long the answer is
   */
  async once(context: WireContext, chars: number, work: () => Promise<object>): Promise<object> {
    const name = context.req.header(REQUEST_HEADER);
    if (name === undefined) return work();
    if (!NAME.test(name))
      throw invalidInput(REQUEST_HEADER, name, '16 to 64 letters, digits, "_" or "-"');
    // A user who knows the name of another user's request does not learn its answer.
    const { method, path } = context.req;
    const { feed } = context.env.scope;
    const key = [feed?.space ?? '', feed?.view ?? '', method, path, name].join('\n');
    const known = this.#answers.get(key);
    if (known !== undefined) return known.answer;
    const answer = work();
    this.#answers.set(key, { answer, chars });
    this.#chars += chars;
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= MAX_ANSWERS && this.#chars <= MAX_CHARS) break;
      this.#forget(oldest);
    }
    try {
      return await answer;
    } catch (error) {
      this.#forget(key);
      throw error;
    }
  }

  #forget(key: string): void {
    this.#chars -= this.#answers.get(key)?.chars ?? 0;
    this.#answers.delete(key);
  }
}
