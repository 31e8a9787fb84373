import type { ModalProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { Dialog } from '#web/base/ui/dialog.tsx'
import { RecordForm } from './record-form.tsx'
import type { RecordForm as FormState } from './use-record-form.ts'

type Needs = { permission: string; scope: PermissionScope | undefined }

type FormDialogProps<Values extends object> = {
  title: string
  size?: ModalProps['size']
  form: FormState<Values>
  submit: string
  labels?: Partial<Record<keyof Values & string, string>>
  /** Without this permission, which may get lost while it is open, the form cannot be sent. */
  needs?: Needs
  reason?: string | undefined
  close(): void
  children: ReactNode
}

/** A form in a dialog, which asks before it closes with unsaved changes. */
export function FormDialog<Values extends object>(props: FormDialogProps<Values>) {
  const { title, size = 'lg', needs, close, children, ...rest } = props
  const { allowed, reason } = usePermission(needs?.permission ?? '', needs?.scope)
  const missing = needs && !allowed ? reason : undefined
  const cancel = () => rest.form.leaveBy(close)
  return (
    <Dialog title={title} size={size} close={cancel}>
      <RecordForm {...rest} reason={rest.reason ?? missing} cancel={cancel}>
        {children}
      </RecordForm>
    </Dialog>
  )
}
