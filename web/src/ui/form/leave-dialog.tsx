import { Text } from '@mantine/core'
import { useSyncExternalStore } from 'react'
import { ConfirmDialog } from '../confirm-dialog.tsx'
import { leaveGuard } from './leave-guard.ts'

/** Rendered once, next to the pages. */
export function LeaveDialog() {
  const isPending = useSyncExternalStore(leaveGuard.subscribe, leaveGuard.isPending)
  if (!isPending) return null
  return (
    <ConfirmDialog
      title="Discard unsaved changes?"
      button="Discard changes"
      dismiss="Keep editing"
      color="red"
      isPending={false}
      error={null}
      confirm={leaveGuard.confirm}
      close={leaveGuard.dismiss}
    >
      <Text size="sm">What you entered on this page has not been saved.</Text>
    </ConfirmDialog>
  )
}
