import type { components, operations } from './api-types.ts'
import { GantryError } from './errors.ts'
import { describeGap } from './log-gaps.ts'
import { resumeEvents, type StreamOptions } from './resume.ts'
import { hasEnded } from './status.ts'

type Schemas = components['schemas']
/** `id` identifies the event: pass it as `after` to resume there. */
type Event<Type extends string, Data> = { type: Type; id: string; data: Data }

/** An event of one action. `end` is the last one. */
export type ActionEvent =
  | Event<'action', Schemas['ActionMove']>
  | Event<'target', Schemas['TargetMove']>
  | Event<'step', Schemas['StepMove']>
  | Event<'log', Schemas['LogText']>
  | Event<'end', Schemas['StreamEnd']>

/** An event of all actions. Whatever is read after `ready` and kept current by the events is never stale. */
export type ActionsEvent = Event<'ready', Schemas['StreamReady']> | Event<'action', Schemas['ActionMove']>

/** An attempt of an outgoing hook, signed again with the hook's secret. */
export type DeliveryEvent = Event<'delivery', Schemas['Delivery']>

export type ActionsFilter = NonNullable<operations['streamActions']['parameters']['query']>

/** A request for a stream, without reading the body; repeated like other reads, or tried once. */
type RequestStream = (
  path: string,
  init: { params: object; headers: Record<string, string>; signal: AbortSignal; isRepeated: boolean },
) => Promise<Response>

export function createStreams(request: RequestStream) {
  /** Events of types that this version does not know are left out. */
  async function* follow<One extends Event<string, unknown>>(
    path: string,
    params: object,
    types: readonly One['type'][],
    options: StreamOptions,
  ): AsyncGenerator<One, void, undefined> {
    const events = resumeEvents(async ({ lastEventId, isFirst, signal }) => {
      const headers: Record<string, string> = { accept: EVENT_STREAM }
      if (lastEventId !== '') headers['last-event-id'] = lastEventId
      const response = await request(path, { params, headers, signal, isRepeated: isFirst })
      const type = response.headers.get('content-type') ?? ''
      if (response.status === 204 || type.startsWith(EVENT_STREAM)) return response
      throw new GantryError(response, { message: `The response is not an event stream but ${type}.` })
    }, options)
    for await (const { type, id, data } of events)
      if (types.includes(type)) yield { type, id, data: JSON.parse(data) } as One
  }

  /** Everything that has happened to an action, then every change as it happens, until it has ended. */
  async function* followAction(
    actionId: number,
    options: StreamOptions = {},
  ): AsyncGenerator<ActionEvent, void, undefined> {
    const types = ['action', 'target', 'step', 'log', 'end'] as const
    const params = { path: { id: actionId } }
    for await (const event of follow<ActionEvent>('/actions/{id}/stream', params, types, options)) {
      yield event
      if (event.type === 'end') return
    }
  }

  return {
    followAction,
    /** Status changes of all actions that you may see, as they happen. Endless. */
    followActions({ query = {}, ...options }: StreamOptions & { query?: ActionsFilter | undefined } = {}) {
      return follow<ActionsEvent>('/actions/stream', { query }, ['ready', 'action'], options)
    },
    /** The deliveries of an outgoing hook as they are attempted. Endless. */
    followDeliveries(hookId: string, options: StreamOptions = {}) {
      const params = { path: { hook_id: hookId } }
      return follow<DeliveryEvent>('/hooks/outgoing/{hook_id}/stream', params, ['delivery'], options)
    },
    /** The output of a step as it is printed, until the step has ended. */
    async *followLog(
      step: { actionId: number; targetId: number; order: number },
      options: StreamOptions = {},
    ): AsyncGenerator<string, void, undefined> {
      for await (const { type, data } of followAction(step.actionId, options)) {
        if (type !== 'log' && type !== 'step') continue
        if (data.target_id !== step.targetId || data.step_order !== step.order) continue
        if (type === 'log')
          yield data.omitted_bytes > 0 ? `\n${describeGap(data.omitted_bytes)}\n${data.text}` : data.text
        else if (hasEnded(data.status)) return
      }
    },
  }
}

const EVENT_STREAM = 'text/event-stream'
