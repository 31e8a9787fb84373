import { Code, Text, Textarea, TextInput } from '@mantine/core'
import type { ApplicationValues } from '../applications/application-input.ts'
import { RecordForm } from '../ui/form/record-form.tsx'
import type { RecordForm as FormState } from '../ui/form/use-record-form.ts'
import classes from './first-run.module.css'
import { previewSteps } from './steps.ts'

type BuildStepProps = { form: FormState<ApplicationValues>; reason: string | undefined }

/** The commands that were detected, and what a deploy will do with them. */
export function BuildStep({ form, reason }: BuildStepProps) {
  const plain = { autoComplete: 'off', spellCheck: false }
  return (
    <RecordForm form={form} submit="Create application and pipeline" reason={reason}>
      <TextInput label="Name" {...plain} {...form.field('name')} />
      <TextInput
        label="Install command (optional)"
        description="Runs on each server, in the folder of the new release."
        {...plain}
        {...form.field('install_dependencies_command')}
      />
      <TextInput label="Build command (optional)" {...plain} {...form.field('build_command')} />
      <Textarea
        label="Shared files and folders (optional)"
        description="One per line, such as .env or storage/. They are kept across releases."
        autosize
        minRows={2}
        {...plain}
        {...form.field('shared_paths')}
      />
      <section aria-labelledby="preview">
        <Text fw={600} size="sm" id="preview">
          Each deploy
        </Text>
        <ol className={classes.preview}>
          {previewSteps(form.values).map(({ name, text, command }) => (
            <li key={name} className="wrap">
              {text} {command && <Code>{command}</Code>} <span className="dimmed">{name}</span>
            </li>
          ))}
        </ol>
      </section>
    </RecordForm>
  )
}
