// The short ways from a repository to a hook: Gantry creates the webhook, or polls.
import { Badge, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { Dimmed, ItemList, SectionCard } from '#web/base/ui/parts.tsx'
import { useSource } from '#web/resources/applications/applications.ts'
import { HOST_NAMES, hostOf, isReachableFrom, whyNoHost } from '#web/resources/hooks/connection.ts'
import type { ChosenPipeline } from '#web/resources/hooks/pipeline-field.tsx'
import type { Sender } from './new-hook-body.ts'
import classes from './new-incoming-hook.module.css'
import { type RepositoryWay, repositoryHookBody, senderOfProvider } from './repository-hook.ts'

export type CreatedFromRepository = { hook: Hook; sender: Sender; branch: string; way: RepositoryWay }

type FromRepositoryProps = {
  pipeline: ChosenPipeline
  senders: Sender[]
  onCreated(created: CreatedFromRepository): void
}

/** Nothing until it is known where the application comes from. */
export function FromRepository({ pipeline, senders, onCreated }: FromRepositoryProps) {
  const api = useApi()
  const refetch = useRefetch()
  const { baseUrl } = useSession()
  const source = useSource(pipeline.resourceType === 'application' ? pipeline.resourceId : undefined)
  const add = usePermission('hook:add', pipeline.scope)
  const run = usePermission('credential:run', pipeline.scope && { organization: pipeline.scope.organization })
  const create = useMutation({
    // The secret is shown once.
    gcTime: 0,
    async mutationFn(way: RepositoryWay): Promise<CreatedFromRepository> {
      const sender = senderOfProvider(senders, source!.credential?.provider.code)
      const branch = source!.default_branch
      const params = { path: { id: pipeline.id } }
      const body = repositoryHookBody(way, sender, branch)
      return { hook: await api.post('/pipelines/{id}/hooks/incoming', { params, body }), sender, branch, way }
    },
    onSuccess(created) {
      const { pipeline_id, environment_id } = created.hook
      void refetch(queryKeys.hooks(pipeline_id), queryKeys.environmentHooks(environment_id))
      onCreated(created)
    },
  })
  if (!source) return null
  const { repository, default_branch: branch, credential } = source
  const host = hostOf(credential)
  const hostName = host ? HOST_NAMES[host] : 'the host of the repository'
  const isReachable = isReachableFrom(repository, baseUrl)
  const missing = add.allowed ? undefined : add.reason
  const connecting = {
    way: 'connect' as const,
    button: 'Connect',
    title: `Connect ${host ? HOST_NAMES[host] : 'the repository'}`,
    text: `Gantry creates the webhook at ${hostName} and watches it: pushes to ${branch} start the pipeline.`,
    note: isReachable
      ? undefined
      : `${URL.parse(baseUrl)?.host} is not a public address: ${hostName} probably cannot call it.`,
    reason: missing ?? (run.allowed ? whyNoHost(credential) : run.reason),
  }
  const polling = {
    way: 'poll' as const,
    button: 'Poll',
    title: 'Poll the repository',
    text: `Gantry asks the repository every minute: new commits of ${branch} start the pipeline. No public URL is needed.`,
    note: undefined,
    reason: missing,
  }
  const ways = isReachable && connecting.reason === undefined ? [connecting, polling] : [polling, connecting]
  return (
    <SectionCard id="from-repository" title={<bdi className="wrap">{repository}</bdi>}>
      <ItemList>
        {ways.map(({ way, button, title, text, note, reason }, index) => (
          <li key={way} className={classes.way}>
            <div>
              <Group gap="xs" mb={4}>
                <Text fw={600} size="sm">
                  {title}
                </Text>
                {index === 0 && <Badge variant="light">Recommended</Badge>}
              </Group>
              <Dimmed className="dimmed wrap">{text}</Dimmed>
              {note && <Dimmed className="dimmed wrap">{note}</Dimmed>}
              {reason && <Dimmed className="dimmed wrap">{reason}</Dimmed>}
            </div>
            <ReasonedButton
              variant={index === 0 ? 'filled' : 'default'}
              reason={reason}
              loading={create.isPending && create.variables === way}
              disabled={create.isPending}
              onClick={() => create.mutate(way)}
            >
              {button}
            </ReasonedButton>
          </li>
        ))}
      </ItemList>
      {create.error && <ErrorAlert error={create.error} title="The hook was not created" />}
    </SectionCard>
  )
}
