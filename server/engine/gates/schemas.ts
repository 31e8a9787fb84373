import * as t from '#platform/http/schemas.ts'
import { GATES, type Gate } from '#platform/vocabulary.ts'

/** What a person lets a run through; approvals are given, not overridden. */
const overrideFields = {
  gate: t.Word(['checks', 'freeze'] as const, 'The gate to let the run through.'),
  reason: t.Text({
    minLength: 1,
    maxLength: 2_000,
    pattern: '^[^\\x00]*$',
    'x-hint': 'must be text',
    description: 'Why, for the audit log.',
  }),
}

export const overrideBody = t.Exactly(overrideFields)
export type Override = t.Static<typeof overrideBody>

export const overridesField = t.List(t.Exactly(overrideFields), {
  maxItems: 2,
  description:
    'Gates to let the run through: what is in force now, not what comes later. Requires `environment:edit`, for a freeze of the organization also `organization:edit`, and of a personal access token the scope `manage`.',
})

export const decisionBody = t.Exactly({
  subject: t.Text({
    minLength: 1,
    maxLength: 200,
    description: 'What you saw: `details.subject` of the gate. With another one, 409 `approval_outdated`.',
  }),
  comment: t.Optional(
    t.TextOrNull({
      maxLength: 2_000,
      pattern: '^[^\\x00]*$',
      'x-hint': 'must be text',
      description: 'For others, and the audit log.',
    }),
  ),
})
export type DecisionBody = t.Static<typeof decisionBody>

export const GATE_STATES = ['closed', 'open', 'failed', 'overridden'] as const

export const gateSchema = t.namedObject('Gate', {
  gate: t.Word(Object.keys(GATES) as Gate[], 'Which gate it is.'),
  gate_human_readable: t.humanReadable('gate'),
  state: t.Word(
    GATE_STATES,
    '`closed`: the run waits here, or will. `open`: it does not. `failed`: the run ended here. `overridden`: a person let it through.',
  ),
  since: t.TimeOrNull('Since when it has that state; null when it never held the run.'),
  until: t.TimeOrNull('When a closed gate opens, or gives up, by itself; null when it does not.'),
  details: t.AnyObject(
    'What the gate waits for, or who opened it. Of a freeze: `freezes` that hold the run, and `overrides`. Of an approval: `subject`, to be sent with a decision (null while `is_preparing`), how many are `required`, the `decisions`, what was `live` on each server, what the approval `covers` besides the commits (servers, steps, commands, names of variables, rollout; null for callers without `action:approve`), whether `you_may_approve`, or `why_not`.',
  ),
})
export type GateRecord = t.Static<typeof gateSchema>

export const actionGatesSchema = t.namedObject('ActionGates', {
  action_id: t.idOf('action'),
  branch: t.TextOrNull('The branch that the run was started for; null without one.'),
  gates: t.List(t.ref(gateSchema), 'Every gate, in the order in which a run passes them.'),
})
export type ActionGates = t.Static<typeof actionGatesSchema>

export const gateSchemas = [gateSchema, actionGatesSchema]
