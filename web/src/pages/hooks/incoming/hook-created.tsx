// Right after a hook was created: what to enter at the service, this once, and the first call as it arrives.
import { Alert, Button, Group, Loader, PasswordInput, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { CircleCheck, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { entrySteps } from '#client/index.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Hook, HookRequestRecord } from '#web/base/api/types.ts'
import { CopyField, SecretOnce } from '#web/base/ui/copy-field.tsx'
import { fieldErrors } from '#web/base/ui/field-errors.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { SectionCard } from '#web/base/ui/parts.tsx'
import { outcomeLabel } from '#web/base/ui/status.ts'
import { firstCallState } from './first-call-state.ts'
import { fieldValues, type Sender, type SenderValues } from './new-hook-body.ts'
import classes from './new-incoming-hook.module.css'

type HookCreatedProps = {
  hook: Hook
  sender: Sender
  values: SenderValues
  /** Otherwise a link to the page of the hook. */
  done?: (() => void) | undefined
}

export function HookCreated({ hook, sender, values, done }: HookCreatedProps) {
  const given = fieldValues(sender, values)
  // A secret that the sender shows is entered here, not there.
  const secret = sender.secret_source === 'gantry' ? hook.secret : null
  const steps = entrySteps(sender, { ...given, url: hook.url, secret: secret ?? undefined })
  const needsSecret = sender.secret_source === 'sender' && given.secret === undefined
  return (
    <Stack>
      <SectionCard id="created" title={`Hook ${hook.name} is ready`}>
        <Stack gap="md">
          <CopyField label="URL" value={hook.url ?? ''} />
          {secret && <SecretOnce label="Secret" value={secret} />}
          <div>
            <Text fw={600} mb="xs">
              At {sender.name}
            </Text>
            <ol className={classes.steps}>
              {steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
          </div>
          {needsSecret && <SetSecret hook={hook} sender={sender} />}
        </Stack>
      </SectionCard>
      <FirstCall hookId={hook.id} />
      <Group justify="flex-end">
        {done ? (
          <Button onClick={done}>Continue</Button>
        ) : (
          <Button component={Link} href={`/hooks/incoming/${hook.id}`}>
            Open hook
          </Button>
        )}
      </Group>
    </Stack>
  )
}

const REFETCH_INTERVAL_MS = 1_500
/** A sender may try a few times before it gets the secret right. */
const LATEST = 10

/** Waits for the first call, and says what became of it. */
function FirstCall({ hookId }: { hookId: string }) {
  const api = useApi()
  const { data = [] } = useQuery<HookRequestRecord[]>({
    queryKey: [...queryKeys.hookRequests(hookId), 'first'],
    refetchInterval: (query) =>
      firstCallState(query.state.data ?? []).kind === 'received' ? false : REFETCH_INTERVAL_MS,
    queryFn: ({ signal }) => {
      const params = { path: { hook_id: hookId }, query: { per_page: LATEST } }
      return api.get('/hooks/incoming/{hook_id}/requests', { params, signal })
    },
  })
  const state = firstCallState(data)
  return (
    <div role="status">
      {state.kind === 'waiting' && (
        <Alert color="gray">
          <span className={classes.waiting}>
            <Loader size="xs" aria-hidden="true" /> Waiting for the first call…
          </span>
        </Alert>
      )}
      {state.kind === 'rejected' && (
        <Alert
          color="orange"
          icon={<TriangleAlert size={18} aria-hidden="true" />}
          title="A call arrived and was rejected"
        >
          <CallLink hookId={hookId} call={state.call} />. Still waiting for one that is accepted…
        </Alert>
      )}
      {state.kind === 'received' && (
        <Alert color="teal" icon={<CircleCheck size={18} aria-hidden="true" />} title="First call received">
          <CallLink hookId={hookId} call={state.call} />
          {state.call.action_id !== null && (
            <>
              {' · '}
              <Link href={`/actions/${state.call.action_id}`}>Run #{state.call.action_id}</Link>
            </>
          )}
        </Alert>
      )}
    </div>
  )
}

function CallLink({ hookId, call }: { hookId: string; call: HookRequestRecord }) {
  return <Link href={`/hooks/incoming/${hookId}?call=${call.id}`}>{outcomeLabel(call)}</Link>
}

/** Some services show their secret only once they know the URL. */
function SetSecret({ hook, sender }: { hook: Hook; sender: Sender }) {
  const api = useApi()
  const [secret, setSecret] = useState('')
  const { mutate, isPending, isSuccess, error } = useMutation({
    gcTime: 0,
    mutationFn: () =>
      api.put('/hooks/incoming/{hook_id}', { params: { path: { hook_id: hook.id } }, body: { secret } }),
    onSuccess: () => setSecret(''),
  })
  const { errors, rest } = fieldErrors(error, ['secret'])
  if (isSuccess)
    return (
      <Text role="status" size="sm">
        The secret of {sender.name} is stored.
      </Text>
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        mutate()
      }}
    >
      <Group align="flex-end" gap="sm">
        <PasswordInput
          flex={1}
          miw="14rem"
          label={`Secret that ${sender.name} shows`}
          description="Calls are rejected until it is set. You can also set it later."
          autoComplete="new-password"
          value={secret}
          error={errors.secret}
          onChange={(event) => setSecret(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={isPending} disabled={secret === ''}>
          Set secret
        </Button>
      </Group>
      {rest && <ErrorAlert error={rest} />}
    </form>
  )
}
