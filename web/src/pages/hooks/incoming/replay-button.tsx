import { Alert, Stack } from '@mantine/core'
import { RotateCcw } from 'lucide-react'
import { Link } from 'wouter'
import type { HookRequestDetail } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { useReplay } from '#web/resources/hooks/use-replay.ts'
import { whyNotReplayable } from './verdict.ts'

type ReplayButtonProps = {
  call: HookRequestDetail
  /** The hook has unsaved changes, which a replay does not know. */
  isUnsaved: boolean
  scope: PermissionScope | undefined
}

/** Runs a call again, with the hook as it is stored, on behalf of the person. */
export function ReplayButton({ call, isUnsaved, scope }: ReplayButtonProps) {
  const { allowed, reason } = usePermission('pipeline:run', scope)
  const { mutate, isPending, data, error } = useReplay(call)
  const unsaved = isUnsaved ? 'A replay takes the saved hook: save your changes first.' : undefined
  return (
    <Stack gap="xs" align="flex-end">
      <ReasonedButton
        loading={isPending}
        icon={RotateCcw}
        reason={whyNotReplayable(call) ?? (allowed ? unsaved : reason)}
        onClick={mutate}
      >
        Replay
      </ReasonedButton>
      {data && (
        <Alert color={data.action_id === null ? 'gray' : 'teal'} role="status">
          {data.message}{' '}
          {data.action_id !== null && <Link href={`/actions/${data.action_id}`}>Run #{data.action_id}</Link>}
        </Alert>
      )}
      {error && <ErrorAlert error={error} />}
    </Stack>
  )
}
