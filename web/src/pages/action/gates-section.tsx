// What a run waits for between its creation and the queue: who approves it, and which freezes hold it.
import { Group, Stack, Text, Textarea } from '@mantine/core'
import { Check, FastForward, X } from 'lucide-react'
import { useState } from 'react'
import { hasEnded } from '#client/index.ts'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Action, Gate } from '#web/base/api/types.ts'
import { runScope } from '#web/base/session/permissions.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton, ReasonedButton } from '#web/base/ui/controls.tsx'
import { formatDateTime } from '#web/base/ui/format.ts'
import { Dimmed, Section } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { WhatIsCovered } from './covered.tsx'
import { approvalDetails, approvalSummary, freezeDetails, isWorthShowing, whyNot } from './gates.ts'
import { useChanges, useGates } from './use-gates.ts'

export function GatesSection({ action }: { action: Action }) {
  const { data } = useGates(action)
  const shown = data?.gates.filter(isWorthShowing) ?? []
  if (shown.length === 0) return null
  return (
    <Section id="gates" title="Gates">
      <Stack gap="md">
        {shown.map((gate) =>
          gate.gate === 'approval' ? (
            <ApprovalGate key={gate.gate} gate={gate} action={action} />
          ) : (
            <FreezeGate key={gate.gate} gate={gate} action={action} />
          ),
        )}
      </Stack>
    </Section>
  )
}

type GateProps = { gate: Gate; action: Action }

function ApprovalGate({ gate, action }: GateProps) {
  const [verb, setVerb] = useState<'approve' | 'reject'>()
  const details = approvalDetails(gate)
  const { data: changes, isError, isPlaceholderData } = useChanges(action)
  // What is approved is what the page shows.
  const isShown = action.type !== 'deploy' || (changes !== undefined && !isPlaceholderData)
  const unseen = isError ? 'The changes could not be loaded.' : 'The changes are loading.'
  const reason = isShown ? whyNot(details) : unseen
  return (
    <div>
      <Text fw={600} size="sm" role="status">
        Approval: {approvalSummary(gate)}
      </Text>
      {gate.state === 'closed' && gate.until && (
        <Dimmed>
          Expires {formatDateTime(gate.until)}.
          {action.type === 'deploy' && ' The changes below are what ships.'}
        </Dimmed>
      )}
      {details.problem && <Text size="sm">{details.problem}</Text>}
      {gate.state === 'closed' && details.covers && <WhatIsCovered {...details.covers} />}
      <ul className="plain-list">
        {details.decisions.map(({ user, decision, comment, created_at, lapsed_at }) => (
          <li key={`${user.id} ${created_at}`} className="wrap">
            {user.name} {decision} <Age of={created_at} />
            {lapsed_at && ', which lapsed: something changed'}
            {comment && `: ${comment}`}
          </li>
        ))}
      </ul>
      {gate.state === 'closed' && (
        <Group gap="xs" mt="xs">
          <ReasonedButton reason={reason} icon={Check} onClick={() => setVerb('approve')}>
            Approve
          </ReasonedButton>
          <ReasonedButton
            reason={reason}
            icon={X}
            variant="outline"
            color="red"
            onClick={() => setVerb('reject')}
          >
            Reject
          </ReasonedButton>
        </Group>
      )}
      {verb && details.subject && (
        <DecisionDialog
          verb={verb}
          action={action}
          subject={details.subject}
          close={() => setVerb(undefined)}
        />
      )}
    </div>
  )
}

const TEXTS = {
  approve: {
    title: 'Approve this run?',
    button: 'Approve',
    done: 'Approved',
    text: 'For exactly what this page shows. If something of it changes before the start, the run waits again.',
  },
  reject: {
    title: 'Reject this run?',
    button: 'Reject',
    done: 'Rejected',
    text: 'Ends the run: one rejection is enough.',
    color: 'red',
  },
}

type DecisionProps = { verb: keyof typeof TEXTS; action: Action; subject: string; close(): void }

/** `subject` is what was shown when the dialog was opened: what changes meanwhile is not approved. */
function DecisionDialog({ verb, action: { id }, subject: shown, close }: DecisionProps) {
  const api = useApi()
  const refetch = useRefetch()
  const [subject] = useState(shown)
  const [comment, setComment] = useState('')
  const { text, ...texts } = TEXTS[verb]
  const refresh = () =>
    refetch(queryKeys.actionGates(id), queryKeys.action(id), queryKeys.overview(), queryKeys.waitingForYou)
  return (
    <ConfirmDialog
      {...texts}
      act={() =>
        api
          .post(`/actions/{id}/${verb}`, {
            params: { path: { id } },
            body: { subject, ...(comment.trim() && { comment: comment.trim() }) },
          })
          .finally(() => void refresh())
      }
      close={close}
    >
      {text}
      <Textarea
        mt="md"
        label="Comment"
        description="Optional: for others, and the audit log."
        autosize
        minRows={2}
        maxLength={2000}
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
    </ConfirmDialog>
  )
}

function FreezeGate({ gate, action }: GateProps) {
  const [isOverriding, setOverriding] = useState(false)
  const { freezes, overrides } = freezeDetails(gate)
  return (
    <div>
      <Text fw={600} size="sm" role="status">
        Freeze: {gate.state === 'closed' ? 'nothing starts' : 'let through'}
      </Text>
      <ul className="plain-list">
        {freezes.map(({ id, name, reason, until }) => (
          <li key={id} className="wrap">
            {name}
            {until && ` until ${formatDateTime(until)}`}: {reason}
          </li>
        ))}
        {overrides.map(({ user, reason, created_at }) => (
          <li key={created_at} className="wrap">
            Let through by {user.name} <Age of={created_at} />: {reason}
          </li>
        ))}
      </ul>
      {gate.state === 'closed' && !hasEnded(action.status) && (
        <GuardedButton
          mt="xs"
          permission="environment:edit"
          scope={runScope(action)}
          variant="default"
          icon={FastForward}
          onClick={() => setOverriding(true)}
        >
          Let it through
        </GuardedButton>
      )}
      {isOverriding && <OverrideDialog action={action} close={() => setOverriding(false)} />}
    </div>
  )
}

function OverrideDialog({ action: { id }, close }: { action: Action; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  const [reason, setReason] = useState('')
  return (
    <ConfirmDialog
      title="Let this run through?"
      button="Let it through"
      isDisabled={reason.trim() === ''}
      act={() =>
        api.post('/actions/{id}/override', {
          params: { path: { id } },
          body: { gate: 'freeze', reason: reason.trim() },
        })
      }
      done="Let through"
      onDone={() => refetch(queryKeys.actionGates(id), queryKeys.action(id))}
      close={close}
    >
      Past the freezes that are in force now. A later one holds it again.
      <Textarea
        mt="md"
        label="Reason"
        description="For the audit log."
        autosize
        minRows={2}
        maxLength={2000}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </ConfirmDialog>
  )
}
