import type { ModalProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { Dialog } from '../parts.tsx'
import { RecordForm } from './record-form.tsx'
import type { RecordForm as FormState } from './use-record-form.ts'

type FormDialogProps<Values extends object> = {
  title: string
  size?: ModalProps['size']
  form: FormState<Values>
  submit: string
  labels?: Partial<Record<keyof Values & string, string>>
  reason?: string | undefined
  close(): void
  children: ReactNode
}

/** A form in a dialog, which asks before it closes with unsaved changes. */
export function FormDialog<Values extends object>(props: FormDialogProps<Values>) {
  const { title, size = 'lg', close, children, ...rest } = props
  const cancel = () => rest.form.leaveBy(close)
  return (
    <Dialog title={title} size={size} close={cancel}>
      <RecordForm {...rest} cancel={cancel}>
        {children}
      </RecordForm>
    </Dialog>
  )
}
