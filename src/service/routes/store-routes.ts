/** What the handlers of the routes about stores are given. */
import type { RouteName } from '../../wire/route-types.ts';
import type { AnswerMemory } from '../http/answer-memory.ts';
import type { HandlerSettings, StoreScope } from '../http/handler-options.ts';
import type { Asked, Handlers } from '../http/router.ts';
import type { Feeds } from '../live/feeds.ts';
import type { SketchKeeper } from '../maintenance/sketch-keeper.ts';
import type { CurveMemory } from './curve-memory.ts';

/** What the routes about stores share. */
export type StoreRouteParts = {
  readonly settings: HandlerSettings;
  /** The description of the API, as JSON. */
  readonly description: string;
  readonly memory: AnswerMemory;
  readonly curves: CurveMemory;
  readonly feeds: Feeds;
  readonly sketches: SketchKeeper;
  /** Told of failures that an answer cannot tell any more. */
  readonly onFailure: (error: unknown) => void;
};

/** A request to a route about a store. */
export type StoreAsked<N extends RouteName<'store'>> = Asked<N, StoreScope>;

/** A handler for every route about a store. */
export type StoreHandlers = Handlers<'store', StoreScope, StoreRouteParts>;
