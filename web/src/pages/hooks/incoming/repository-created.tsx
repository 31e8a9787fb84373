// Right after a hook was created from a repository: whether it is connected, or what polling finds.
import { Alert, Button, Group, Loader, Stack } from '@mantine/core'
import { CircleCheck, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { SectionCard } from '#web/base/ui/parts.tsx'
import { HOST_NAMES } from '#web/resources/hooks/connection.ts'
import { useConnect, useWatchedHook } from '#web/resources/hooks/use-connection.ts'
import { WebhookLink } from './connection-section.tsx'
import { FirstCall } from './first-call.tsx'
import type { CreatedFromRepository } from './from-repository.tsx'
import { HookCreated } from './hook-created.tsx'
import classes from './new-incoming-hook.module.css'
import { PollFacts } from './poll-facts.tsx'
import { valuesFor } from './repository-hook.ts'

export function RepositoryCreated(created: CreatedFromRepository) {
  const { hook, sender, branch, way } = created
  const [isCopying, setCopying] = useState(false)
  // The secret is only in the response that created it.
  const record = useWatchedHook(hook.id).data?.record ?? hook
  if (isCopying) return <HookCreated hook={hook} sender={sender} values={valuesFor(sender, branch)} />
  return (
    <Stack>
      <SectionCard id="created" title={`Hook ${hook.name}`}>
        {way === 'connect' ? (
          <Connecting hook={record} copy={() => setCopying(true)} />
        ) : (
          <Polling hook={record} />
        )}
      </SectionCard>
      {(way === 'poll' || record.connection?.state === 'connected') && <FirstCall hookId={hook.id} />}
      <Group justify="flex-end">
        <Button component={Link} href={`/hooks/incoming/${hook.id}`}>
          Open hook
        </Button>
      </Group>
    </Stack>
  )
}

type ConnectingProps = { hook: CreatedFromRepository['hook']; copy(): void }

function Connecting({ hook, copy }: ConnectingProps) {
  const { mutate, isPending, error } = useConnect(hook.id)
  const { connection } = hook
  if (!connection) return null
  const host = HOST_NAMES[connection.provider]
  const { state, repository, problem } = connection
  return (
    <div role="status">
      {state === 'connecting' && (
        <Alert color="gray">
          <span className={classes.waiting}>
            <Loader size="xs" aria-hidden="true" /> {problem ?? `Creating the webhook at ${host}…`}
          </span>
        </Alert>
      )}
      {state === 'connected' && (
        <Alert
          color="teal"
          icon={<CircleCheck size={18} aria-hidden="true" />}
          title={`Connected to ${repository}`}
        >
          <div>Gantry created the webhook at {host} and watches it.</div>
          <WebhookLink connection={connection} />
        </Alert>
      )}
      {state !== 'connecting' && state !== 'connected' && (
        <Alert
          color="orange"
          icon={<TriangleAlert size={18} aria-hidden="true" />}
          title="The hook was created, but it is not connected"
        >
          {problem}
          <Group gap="xs" mt="sm">
            <Button size="xs" loading={isPending} onClick={() => mutate()}>
              Try again
            </Button>
            <Button size="xs" variant="default" onClick={copy}>
              Copy URL and secret instead
            </Button>
          </Group>
        </Alert>
      )}
      {error && <ErrorAlert error={error} />}
    </div>
  )
}

function Polling({ hook }: { hook: CreatedFromRepository['hook'] }) {
  if (!hook.poll) return null
  return <PollFacts hook={hook} poll={hook.poll} />
}
