import { Checkbox, NumberInput, Stack, TagsInput } from '@mantine/core'
import type { Hook } from '#web/base/api/types.ts'
import { useSource } from '#web/resources/applications/applications.ts'
import type { HookForm } from './use-hook-form.ts'

type PollFieldsProps = { hook: Hook; form: HookForm; isDisabled: boolean }

/** For repositories whose host cannot call Gantry. */
export function PollFields({ hook, form, isDisabled }: PollFieldsProps) {
  const { polls, poll_refs } = form.values
  const branch = useSource(hook.resource_id)?.default_branch
  const isConnected = hook.connection !== null
  return (
    <Stack gap="sm">
      <Checkbox
        label="Poll the repository"
        description={
          isConnected
            ? 'The repository is connected: its host calls this hook. Disconnect it to poll instead.'
            : 'Gantry asks the repository for new commits, and each is a call. The host does not have to reach Gantry.'
        }
        disabled={isDisabled || isConnected}
        {...form.field('polls', 'checkbox')}
      />
      {polls && (
        <>
          <TagsInput
            label="Branches to poll"
            description="At most 20. Empty: the branch of the application."
            placeholder={poll_refs.length === 0 ? branch : ''}
            maw="42rem"
            disabled={isDisabled}
            value={poll_refs}
            error={form.errors.poll_refs ?? null}
            onChange={(next) => form.set('poll_refs', next)}
          />
          <NumberInput
            label="Seconds between polls"
            description="30 to 86,400."
            maw="14rem"
            min={30}
            max={86_400}
            hideControls
            disabled={isDisabled}
            {...form.field('poll_seconds')}
          />
        </>
      )}
    </Stack>
  )
}
