// What a run waits for between its creation and the queue: the checks of its commit, who approves it, and which
// freezes hold it.
import { Alert, Group, Stack, Text, Textarea } from '@mantine/core'
import { Check, FastForward, X } from 'lucide-react'
import { useState } from 'react'
import { GantryError, hasEnded } from '#client/index.ts'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Action, Gate } from '#web/base/api/types.ts'
import { runScope } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton, ReasonedButton } from '#web/base/ui/controls.tsx'
import { formatDateTime } from '#web/base/ui/format.ts'
import { Dimmed, Section } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { ChecksGate } from './checks-gate.tsx'
import { WhatIsCovered } from './covered.tsx'
import {
  type ApprovalDetails,
  approvalDetails,
  approvalSummary,
  freezeDetails,
  isWorthShowing,
  LOOK_AGAIN,
  overridesOf,
  whyNot,
  whyNotApprove,
  whyNotCounted,
  whyTooLate,
} from './gates.ts'
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
            <PassableGate key={gate.gate} gate={gate} action={action} />
          ),
        )}
      </Stack>
    </Section>
  )
}

type GateProps = { gate: Gate; action: Action }

function ApprovalGate({ gate, action }: GateProps) {
  const [deciding, setDeciding] = useState<Deciding>()
  const details = approvalDetails(gate)
  const { user: viewer } = useSession()
  const { data: changes, isError, isPlaceholderData } = useChanges(action)
  // What is approved is what the page shows.
  const isShown = action.type !== 'deploy' || (changes !== undefined && !isPlaceholderData)
  const unseen = isError ? 'The changes could not be loaded.' : 'The changes are loading.'
  const decide = (verb: Deciding['verb']) => setDeciding({ verb, seen: details })
  return (
    <div>
      <Text fw={600} size="sm" role="status">
        Approval: {approvalSummary(gate, action.status_reason_code)}
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
        {details.decisions.map((one) => {
          const { user, decision, comment, created_at } = one
          const reason = whyNotCounted(one)
          return (
            <li key={`${user.id} ${created_at}`} className="wrap">
              {user.name} {decision} <Age of={created_at} />
              {reason && `, ${reason}`}
              {comment && `: ${comment}`}
            </li>
          )
        })}
      </ul>
      {gate.state === 'closed' && (
        <Group gap="xs" mt="xs">
          <ReasonedButton
            reason={isShown ? whyNotApprove(details, viewer.id) : unseen}
            icon={Check}
            onClick={() => decide('approve')}
          >
            Approve
          </ReasonedButton>
          <ReasonedButton
            reason={isShown ? whyNot(details) : unseen}
            icon={X}
            variant="outline"
            color="red"
            onClick={() => decide('reject')}
          >
            Reject
          </ReasonedButton>
        </Group>
      )}
      {deciding && (
        <DecisionDialog
          {...deciding}
          action={action}
          tooLate={whyTooLate(gate, deciding.seen, action.status_reason_code)}
          isOpen={gate.state === 'closed'}
          close={() => setDeciding(undefined)}
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
    text: 'For exactly what this page shows. If any of it changes before the run starts, it waits again.',
  },
  reject: {
    title: 'Reject this run?',
    button: 'Reject',
    done: 'Rejected',
    text: 'Ends the run: one rejection is enough.',
    color: 'red',
  },
}

/** `seen`: what was shown when the dialog was opened. What changes meanwhile is not approved. */
type Deciding = { verb: keyof typeof TEXTS; seen: ApprovalDetails }
const isOutdated = (error: unknown) => error instanceof GantryError && error.code === 'approval_outdated'

type DecisionProps = Deciding & {
  action: Action
  /** Why nothing can be decided anymore. */
  tooLate: string | undefined
  /** It waits for approval: of something else, if it is too late. */
  isOpen: boolean
  close(): void
}

function DecisionDialog({ verb, action: { id }, seen, isOpen, close, ...props }: DecisionProps) {
  const api = useApi()
  const refetch = useRefetch()
  const [comment, setComment] = useState('')
  const [wasOutdated, setOutdated] = useState(false)
  const { text, ...texts } = TEXTS[verb]
  // The API may know before the page does.
  const tooLate = props.tooLate ?? (wasOutdated ? LOOK_AGAIN : undefined)
  const refresh = () =>
    refetch(queryKeys.actionGates(id), queryKeys.action(id), queryKeys.overview(), queryKeys.waitingForYou)
  return (
    <ConfirmDialog
      {...texts}
      dismiss={tooLate && isOpen ? 'Look again' : undefined}
      act={() =>
        api
          .post(`/actions/{id}/${verb}`, {
            params: { path: { id } },
            body: { subject: seen.subject!, ...(comment.trim() && { comment: comment.trim() }) },
          })
          .catch((error) => {
            if (isOutdated(error)) setOutdated(true)
            throw error
          })
          .finally(() => void refresh())
      }
      isDisabled={tooLate !== undefined}
      isExplained={tooLate !== undefined}
      close={close}
    >
      {tooLate ? (
        <Alert color="orange" role="alert">
          {tooLate}
        </Alert>
      ) : (
        text
      )}
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

function FreezeGate({ gate }: Pick<GateProps, 'gate'>) {
  return (
    <>
      <Text fw={600} size="sm" role="status">
        Freeze: {gate.state === 'closed' ? 'nothing starts' : 'let through'}
      </Text>
      <ul className="plain-list">
        {freezeDetails(gate).freezes.map(({ id, name, reason, until }) => (
          <li key={id} className="wrap">
            {name}
            {until && ` until ${formatDateTime(until)}`}: {reason}
          </li>
        ))}
      </ul>
    </>
  )
}

/** A gate that people let single runs through. */
function PassableGate({ gate, action }: GateProps) {
  const [isOverriding, setOverriding] = useState(false)
  return (
    <div>
      {gate.gate === 'checks' ? <ChecksGate gate={gate} /> : <FreezeGate gate={gate} />}
      <ul className="plain-list">
        {overridesOf(gate).map(({ user, reason, created_at }) => (
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
      {isOverriding && <OverrideDialog gate={gate} action={action} close={() => setOverriding(false)} />}
    </div>
  )
}

const PASSES: Partial<Record<Gate['gate'], string>> = {
  checks: 'Whatever the checks of its commit say, now and later. Other gates still hold it.',
  freeze: 'Past the freezes that are in force now. A later one holds it again.',
}

function OverrideDialog({ gate: { gate }, action: { id }, close }: GateProps & { close(): void }) {
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
          body: { gate: gate as 'checks' | 'freeze', reason: reason.trim() },
        })
      }
      done="Let through"
      onDone={() => refetch(queryKeys.actionGates(id), queryKeys.action(id))}
      close={close}
    >
      {PASSES[gate]}
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
