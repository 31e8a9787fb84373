import { QuestionDialog } from '#web/base/ui/confirm-dialog.tsx'
import { leaveGuard } from './leave-guard.ts'

export default function LeaveQuestion() {
  return (
    <QuestionDialog
      title="Discard unsaved changes?"
      button="Discard changes"
      dismiss="Keep editing"
      color="red"
      confirm={leaveGuard.confirm}
      close={leaveGuard.dismiss}
    >
      What you entered on this page has not been saved.
    </QuestionDialog>
  )
}
