import { Alert, Badge, Code, Group, NativeSelect, Paper, Text } from '@mantine/core'
import { type Data, STATUSES } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { Dimmed, Section } from '#web/base/ui/parts.tsx'
import { deployKind } from '#web/base/ui/status.ts'
import { runTitle } from '#web/resources/pipelines/pipeline-names.ts'
import { usePipeline } from '#web/resources/pipelines/pipelines.ts'
import { Body, Headers } from './attempt-details.tsx'
import { type ChatMessage, chatMessage } from './chat-message.ts'
import { eventLabel } from './events.ts'
import classes from './outgoing.module.css'
import { presetKind } from './preset-kind.ts'

type Preview = Data<'post', '/hooks/outgoing/{hook_id}/preview'>

type LivePreviewProps = {
  hook: Hook
  preview: Preview | undefined
  /** Why there is none, if no input says so. */
  problem: string | null
  /** The pipeline has not run yet. */
  isWaiting: boolean
  /** What is shown is older than what the form says. */
  isStale: boolean
  actionId: number | undefined
  choose(actionId: number | undefined): void
}

/** What the receiver would get. */
export function LivePreview({
  hook,
  preview,
  problem,
  isWaiting,
  isStale,
  actionId,
  choose,
}: LivePreviewProps) {
  return (
    <div className={classes.preview}>
      <Section id="preview" title="Preview" size="h5">
        <ActionSelect hook={hook} actionId={actionId} choose={choose} />
        {isWaiting && (
          <Dimmed mt="sm" role="status">
            Shown once the pipeline has run. Until then, a test is sent about a sample run.
          </Dimmed>
        )}
        {problem && (
          <Alert color="orange" mt="sm" role="status" className="wrap">
            {problem}
          </Alert>
        )}
        {preview && (
          <div className={isStale ? classes.stale : undefined} aria-busy={isStale}>
            <Notes preview={preview} />
            <Message message={chatMessage(presetKind(hook), preview.body)} />
            <Group gap="xs" my="xs" align="start" wrap="nowrap">
              <Badge variant="default" radius="sm" flex="none">
                {preview.method}
              </Badge>
              <Code className="wrap">{preview.url}</Code>
            </Group>
            <Headers headers={preview.headers} />
            <Body label="preview" text={preview.body} empty="No body" />
          </div>
        )}
      </Section>
    </div>
  )
}

/** As people in the channel see it. */
function Message({ message }: { message: ChatMessage | undefined }) {
  if (!message) return null
  return (
    <Paper component="section" withBorder p="sm" my="xs" aria-label="Message" className={classes.message}>
      <svg className={classes.stripe} aria-hidden="true" width="4" height="100%">
        <rect width="4" height="100%" fill={message.color} />
      </svg>
      <Text fw={600} size="sm" className="wrap">
        {message.title}
      </Text>
      <dl className={classes.fields}>
        {message.fields.map(([label, value]) => (
          <div key={label}>
            <dt className="dimmed">{label}</dt>
            <dd className="wrap">{value}</dd>
          </div>
        ))}
      </dl>
    </Paper>
  )
}

const WHICH = { only: null, create: 'The request that creates', update: 'The request that updates' }

function Notes({
  preview: { event, request, unmet_condition, receiver, access_token },
}: {
  preview: Preview
}) {
  return (
    <Text size="sm" className="dimmed wrap" component="div" mt="sm">
      {eventLabel(event.kind)}
      {WHICH[request] && <div>{WHICH[request]}</div>}
      {unmet_condition !== null && (
        <Alert color="orange" mt="xs">
          Not sent for this run: the condition <code>{unmet_condition}</code> is not met.
        </Alert>
      )}
      {!receiver.allowed && (
        <Alert color="red" mt="xs">
          {receiver.message}
        </Alert>
      )}
      {access_token !== 'not used' && <div>Token of the credential: {access_token}</div>}
    </Text>
  )
}

const MAX_ACTIONS = 20

type ActionSelectProps = Pick<LivePreviewProps, 'hook' | 'actionId' | 'choose'>

function ActionSelect({ hook, actionId, choose }: ActionSelectProps) {
  const filter = {
    'filter[type]': hook.action_type,
    'filter[environment_id]': String(hook.environment_id),
    ...(hook.trigger_when.scope === 'resource'
      ? { 'filter[resource_type]': hook.resource_type, 'filter[resource_id]': String(hook.resource_id) }
      : { 'filter[pipeline_id]': String(hook.pipeline_id) }),
    per_page: MAX_ACTIONS,
  }
  const pipeline = usePipeline(hook.pipeline_id).data
  const name = hook.trigger_when.scope === 'resource' ? undefined : pipeline?.name
  const { data = [] } = useGet(queryKeys.actions(JSON.stringify(filter)), '/actions', {
    params: { query: filter },
  })
  return (
    <NativeSelect
      label="With"
      value={actionId ?? ''}
      onChange={(event) => choose(Number(event.currentTarget.value) || undefined)}
      data={[
        { value: '', label: 'the newest run' },
        ...data.map((action) => ({
          value: String(action.id),
          label: `${runTitle(name, action.id, deployKind(action))}, ${STATUSES[action.status].toLowerCase()}`,
        })),
      ]}
    />
  )
}
