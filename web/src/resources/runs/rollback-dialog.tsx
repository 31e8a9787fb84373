import '@mantine/core/styles/Radio.css'
import '@mantine/core/styles/RadioCard.css'
import '@mantine/core/styles/RadioIndicator.css'
import { Badge, Button, Group, Radio, Text, TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { GantryError } from '#client/index.ts'
import type { Pipeline, RunBody } from '#web/base/api/types.ts'
import { Dialog } from '#web/base/ui/dialog.tsx'
import { splitErrors } from '#web/base/ui/field-errors.ts'
import { Loaded, Loading } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { usePlan } from '#web/resources/pipelines/pipelines.ts'
import { type Release, useLiveRelease, useReleases } from './releases.ts'
import classes from './run.module.css'
import { useRun } from './run-dialog.tsx'
import { RunForm } from './run-plan.tsx'

type RollbackDialogProps = {
  /** Of an application that it deploys. */
  pipeline: Pipeline
  /** The run to undo; without it, whatever is live. */
  from?: number
  /** The comment that is proposed. */
  comment?: string
  /** The release that is proposed, if not the one before the live one. */
  release?: string
  close(): void
}

/** A release to return to, and what that would do. Proposes the one before the live one. */
export function RollbackDialog(props: RollbackDialogProps) {
  const { pipeline, from, close } = props
  const proposal = usePlan(pipeline.id, bodyOf({ from }))
  const { isPending, error } = proposal
  // The first answer, and those after it: while it is asked for again, an error is none for a moment.
  const [answer, setAnswer] = useState<{ error: Error | null }>()
  useEffect(() => {
    if (!isPending) setAnswer({ error })
  }, [isPending, error])
  return (
    <Dialog close={close} title={<span className="wrap">Roll back {pipeline.name}</span>} size="56rem">
      {!answer ? (
        <Loading what="plan" />
      ) : isConflict(answer.error, 'nothing_to_roll_back') ? (
        <NothingToRollBack text={answer.error!.message} close={close} />
      ) : (
        <RollbackForm {...props} proposal={proposal} />
      )}
    </Dialog>
  )
}

function NothingToRollBack({ text, close }: { text: string; close(): void }) {
  const button = useRef<HTMLButtonElement>(null)
  // The dialog was open before there was a button.
  useEffect(() => button.current?.focus(), [])
  return (
    <>
      <Text className="wrap">{text}</Text>
      <Text size="sm" mt="xs" className="dimmed">
        Nothing was changed.
      </Text>
      <Group justify="flex-end" mt="md">
        <Button onClick={close} ref={button}>
          Close
        </Button>
      </Group>
    </>
  )
}

type RollbackFormProps = RollbackDialogProps & { proposal: ReturnType<typeof usePlan> }

function RollbackForm({
  pipeline,
  from,
  comment: proposed = '',
  release,
  close,
  proposal,
}: RollbackFormProps) {
  const [pages, setPages] = useState(1)
  const [chosen, setChosen] = useState(release)
  const [comment, setComment] = useState(proposed)
  const applicationId = pipeline.resource_id
  const releases = useReleases(applicationId, pages)
  const newest = useLiveRelease(applicationId).data
  // If servers differ, or one is unknown, they can also return to what is live on some of them.
  const live = isConflict(proposal.error, 'live_releases_differ', 'live_unknown') ? null : newest
  const name = chosen ?? proposal.data?.rollback?.to.release_name
  const planOfChosen = usePlan(pipeline.id, bodyOf({ from, release: chosen }), chosen !== undefined)
  const plan = chosen === undefined ? proposal : planOfChosen
  const run = useRun(pipeline, close)
  const { errors, rest } = splitErrors(run.error ?? plan.error, (field) =>
    field === 'trigger_comment' ? 'comment' : undefined,
  )
  // What the dialog shows is what starts: if something else has become live meanwhile, nothing does.
  const shown = from ?? plan.data?.rollback?.from?.action_id ?? undefined
  return (
    <RunForm
      pipeline={pipeline}
      plan={plan}
      run={run}
      error={rest}
      button="Roll back"
      isDisabled={!plan.data || plan.error !== null}
      submit={() => run.mutate(bodyOf({ from: shown, release: name, comment }))}
      close={close}
    >
      <Loaded query={releases} what="releases">
        {({ releases: all, hasMore }) => (
          <>
            <Releases releases={all} live={live} chosen={name} choose={setChosen} />
            {hasMore && (
              <Button size="xs" variant="subtle" onClick={() => setPages(pages + 1)}>
                Show older releases
              </Button>
            )}
          </>
        )}
      </Loaded>
      <TextInput
        label="Comment (optional)"
        spellCheck
        maxLength={255}
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
        error={errors.comment}
      />
    </RunForm>
  )
}

const isConflict = (error: Error | null, ...codes: string[]) =>
  error instanceof GantryError && codes.includes(error.code)

type Request = { from: number | undefined; release?: string | undefined; comment?: string }

function bodyOf({ from, release, comment = '' }: Request): RunBody {
  return {
    type: 'rollback',
    ...(from !== undefined && { rollback_from: from }),
    ...(release !== undefined && { release_name: release }),
    ...(comment.trim() !== '' && { trigger_comment: comment.trim() }),
  }
}

type ReleasesProps = {
  releases: Release[]
  live: string | null | undefined
  chosen: string | undefined
  choose(name: string): void
}

function Releases({ releases, live, chosen, choose }: ReleasesProps) {
  const list = useRef<HTMLDivElement>(null)
  const isProposed = releases.some(({ name }) => name === chosen)
  // The dialog opens before there is anything to choose from.
  useEffect(() => {
    const proposed = list.current?.querySelector<HTMLElement>('[role="radio"][aria-checked="true"]')
    if (isProposed && document.activeElement?.tagName !== 'INPUT') proposed?.focus()
  }, [isProposed])
  if (releases.length === 0) return <Dimmed>No deploy of this application has completed yet.</Dimmed>
  return (
    <Radio.Group label="Release" value={chosen ?? null} onChange={choose}>
      <div className={classes.releases} ref={list}>
        {releases.map((release) => (
          <ReleaseCard
            key={release.name}
            release={release}
            isLive={release.name === live}
            isChosen={release.name === chosen}
          />
        ))}
      </div>
    </Radio.Group>
  )
}

type ReleaseCardProps = { release: Release; isLive: boolean; isChosen: boolean }

function ReleaseCard({ release, isLive, isChosen }: ReleaseCardProps) {
  const { name, commit, deployedAt, deployedBy } = release
  return (
    <Radio.Card
      value={name}
      disabled={isLive}
      className={classes.release}
      aria-label={`Release ${name}`}
      data-autofocus={isChosen || undefined}
    >
      <Group wrap="nowrap" align="flex-start" gap="sm">
        <Radio.Indicator disabled={isLive} mt={3} />
        <div className="wrap">
          <Group gap="xs">
            <code>{name}</code>
            {isLive && (
              <Badge size="sm" variant="light" color="teal" tt="none">
                Live
              </Badge>
            )}
          </Group>
          <Text size="sm">
            <code>{commit.hash.slice(0, 8)}</code> {commit.message}
          </Text>
          <Text size="xs" className="dimmed">
            <Age of={deployedAt} />
            {deployedBy && ` by ${deployedBy}`}
          </Text>
        </div>
      </Group>
    </Radio.Card>
  )
}
