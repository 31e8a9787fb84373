import { Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { RecordForm } from '../ui/form/record-form.tsx'
import type { RecordForm as FormState } from '../ui/form/use-record-form.ts'
import classes from './pipelines.module.css'

/** The form that is open: opening another one asks first if anything is unsaved. */
export type OpenedForm = { current: { leaveBy(go: () => void): void } | undefined }

export type StepFormProps = {
  opened: OpenedForm
  /** Why nothing can be saved. */
  reason: string | undefined
  close(): void
}

type Props<Values extends object> = StepFormProps & {
  title: string
  submit: string
  form: FormState<Values>
  labels?: Partial<Record<keyof Values & string, string>>
  children: ReactNode
}

/** A form in the place of its step. */
export function StepForm<Values extends object>(props: Props<Values>) {
  const { title, form, opened, close, children, ...rest } = props
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    opened.current = form
    return () => {
      opened.current = undefined
    }
  })
  useEffect(() => {
    section.current?.querySelector('input')?.focus()
    section.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <section ref={section} aria-label={title} className={classes.form}>
      <Title order={3} size="h6" mb="sm" className="wrap">
        {title}
      </Title>
      <RecordForm form={form} cancel={() => form.leaveBy(close)} {...rest}>
        {children}
      </RecordForm>
    </section>
  )
}
