/** Methods that are replaced for a while, by several who come and go in any order. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tapMethod } from '../../src/base/method-tap.ts';
import { runs } from '../support/property.ts';

class Greeter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  greet(...words: unknown[]): string {
    return `${words.join(' ')} ${this.name}`;
  }
}

const add = (object: object, mark: string): (() => void) =>
  tapMethod(
    object,
    'greet',
    (original) =>
      function (this: unknown, ...args) {
        return `${mark}(${String(original.apply(this, args))})`;
      },
  );

describe('tapMethod', () => {
  it('leaves no trace, whoever leaves first', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 }), { maxLength: 40 }), fc.boolean(), (moves, isOwn) => {
        const greeter = new Greeter('you');
        if (isOwn)
          Object.defineProperty(greeter, 'greet', { value: () => 'own', configurable: true });
        const plain = greeter.greet('to');
        const active = new Map<number, () => void>();
        for (const move of moves) {
          const undo = active.get(move);
          active.delete(move);
          if (undo === undefined) active.set(move, add(greeter, String(move)));
          else undo();
          const wanted = [...active.keys()].reduce((inner, mark) => `${mark}(${inner})`, plain);
          expect(greeter.greet('to')).toBe(wanted);
        }
        for (const undo of active.values()) {
          undo();
          // A second call of an undo is none.
          undo();
        }
        expect(greeter.greet('to')).toBe(plain);
        expect(Object.hasOwn(greeter, 'greet')).toBe(isOwn);
      }),
      runs(200),
    );
  });

  it('stays out of the way of a wrapper that others have put on since', () => {
    const greeter = new Greeter('you');
    const undoFirst = add(greeter, 'a');
    const inner: Greeter['greet'] = greeter.greet.bind(greeter);
    const foreign = (...words: unknown[]): string => `foreign(${inner(...words)})`;
    greeter.greet = foreign;
    const undoSecond = add(greeter, 'b');
    expect(greeter.greet('to')).toBe('b(foreign(a(to you)))');
    undoFirst();
    expect(greeter.greet('to')).toBe('b(foreign(to you))');
    undoSecond();
    expect(Reflect.get(greeter, 'greet')).toBe(foreign);
    expect(greeter.greet('to')).toBe('foreign(to you)');
  });
});
