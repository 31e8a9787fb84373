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
  details: t.Unsafe<Record<string, unknown>>({
    anyOf: [{ $ref: 'ChecksGateDetails#' }, { type: 'object', additionalProperties: true }],
    description:
      'What the gate waits for, or who opened it. Of checks: `ChecksGateDetails`. Of a freeze: `freezes` that hold the run, and `overrides`. Of an approval: `subject`, to be sent with a decision (null while `is_preparing`), how many are `required`, the `decisions` (`counts`: whether one is an approval by a person who still may approve), what was `live` on each server, what the approval `covers` besides the commits (servers, steps, commands, names of variables, rollout; null for callers without `action:approve`), whether `you_may_approve`, or `why_not`.',
  }),
})
export type GateRecord = t.Static<typeof gateSchema>

export const actionGatesSchema = t.namedObject('ActionGates', {
  action_id: t.idOf('action'),
  branch: t.TextOrNull('The branch that the run was started for; null without one.'),
  gates: t.List(t.ref(gateSchema), 'Every gate, in the order in which a run passes them.'),
})
export type ActionGates = t.Static<typeof actionGatesSchema>

/** One check; the host names its states in its own words. */
export const shownCheckSchema = t.namedObject('GateCheck', {
  name: t.Text('The name of the check, as the host shows it.'),
  state: t.Word(['waiting', 'green', 'red'] as const, 'What the state that the host reports means.'),
  reported: t.Text('The state that the host reports, such as `in_progress` or `failure`.'),
  link: t.TextOrNull('The page of the check (http or https); null without one.'),
  since: t.TimeOrNull('Since when it has that state; null if the host does not say.'),
})

/** `details` of the gate `checks`. */
export const checksDetailsSchema = t.namedObject('ChecksGateDetails', {
  is_preparing: t.Flag('Whether a worker has yet to find the commit, or to ask about it for the first time.'),
  commit: t.TextOrNull('The commit whose checks count; null until it is found.'),
  message: t.TextOrNull(
    'What the run waits for, or why it ended, in a sentence that names the check; null when nothing holds it.',
  ),
  waiting_for: t.refOrNull(
    shownCheckSchema,
    'The check that the run waits for, or the red one; null when it is none in particular.',
  ),
  checks: t.List(
    t.ref(shownCheckSchema),
    'The checks that count, those that hold the run first; at most 200.',
  ),
  total: t.Integer('How many checks count.'),
  missing: t.List(
    t.Text('A name.'),
    'Names of `wait_for_checks` without a wildcard of which there is no check.',
  ),
  settles_at: t.TimeOrNull('When the gate opens if nothing changes; null unless every check is green.'),
  asked_at: t.TimeOrNull('When the host was last asked.'),
  problem: t.TextOrNull('Why the host could not be asked, or did not answer; null when it did.'),
  notice: t.TextOrNull('What the token cannot see: checks of other apps. Null when it sees all.'),
  overrides: t.List(
    t.AnyObject('`reason`, `user` (`id`, `name`), `created_at`.'),
    'Who let the run through.',
  ),
})
export type ChecksDetails = t.Static<typeof checksDetailsSchema>

export const gateSchemas = [gateSchema, actionGatesSchema, shownCheckSchema, checksDetailsSchema]
