import { Alert, Button, Group, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../api/services.ts'
import type { Action, RunPlan } from '../api-types.ts'
import { usePlan } from '../pipelines/use-plan.ts'
import { Dialog } from '../shell/dialog.tsx'
import { hasEnded } from '../words/statuses.ts'

type Verb = 'retry' | 'cancel' | 'rollback'

const WORDS: Record<Verb, { button: string; title: string; text: string; colour?: string }> = {
  retry: {
    button: 'Retry',
    title: 'Run this again?',
    text: 'A new action runs on the same servers with the same commit and variables, and with the steps of today.',
  },
  cancel: {
    button: 'Cancel',
    title: 'Cancel this action?',
    text: 'Steps that run are stopped where they are, and nothing more of it starts. What was done is not undone.',
    colour: 'red',
  },
  rollback: {
    button: 'Roll back',
    title: 'Go back to the release before?',
    text: 'A new action makes the release before the live one live again, on every server of the pipeline.',
  },
}

const ROLLBACK = { type: 'rollback' } as const

export function RunControls({ action }: { action: Action }) {
  const [asked, setAsked] = useState<Verb>()
  const isOver = hasEnded(action.status)
  return (
    <Group gap="xs">
      {!isOver && <VerbButton verb="cancel" ask={setAsked} />}
      {isOver && <VerbButton verb="retry" ask={setAsked} />}
      {isOver && action.type === 'deploy' && <VerbButton verb="rollback" ask={setAsked} />}
      {asked && <Confirmation verb={asked} action={action} close={() => setAsked(undefined)} />}
    </Group>
  )
}

function VerbButton({ verb, ask }: { verb: Verb; ask(verb: Verb): void }) {
  const { button, colour } = WORDS[verb]
  return (
    <Button variant={colour ? 'outline' : 'default'} color={colour} onClick={() => ask(verb)}>
      {button}
    </Button>
  )
}

function Confirmation({ verb, action, close }: { verb: Verb; action: Action; close(): void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const { button, title, text, colour } = WORDS[verb]
  const back = usePlan(action.pipeline_id, ROLLBACK, verb === 'rollback')
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => {
      switch (verb) {
        case 'retry':
          return api.ask('POST /actions/{id}/retry', { path: { id: action.id }, body: {} })
        case 'cancel':
          return api.ask('POST /actions/{id}/cancel', { path: { id: action.id }, body: {} })
        case 'rollback':
          return api.ask('POST /pipelines/{id}/actions', {
            path: { id: action.pipeline_id },
            body: { ...ROLLBACK, trigger_comment: `Roll back after #${action.id}` },
          })
      }
    },
    onSuccess(result) {
      close()
      void queries.invalidateQueries({ queryKey: ['actions'] })
      if (verb === 'cancel') void queries.invalidateQueries({ queryKey: ['action', String(action.id)] })
      else navigate(`/actions/${result.id}`)
    },
  })
  const refusal = error ?? back.error
  return (
    <Dialog close={close} title={title} centered>
      <Text size="sm">{text}</Text>
      {back.data?.source && <WhereItGoes source={back.data.source} />}
      {refusal && (
        <Alert color="red" variant="light" mt="md" role="alert">
          {refusal.message}
        </Alert>
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={close}>
          Leave it
        </Button>
        <Button color={colour} loading={isPending} onClick={() => mutate()} data-autofocus>
          {button}
        </Button>
      </Group>
    </Dialog>
  )
}

function WhereItGoes({ source }: { source: NonNullable<RunPlan['source']> }) {
  return (
    <Text size="sm" mt="xs">
      That is release <code>{source.release_name}</code> of commit{' '}
      <code>{source.commit_hash?.slice(0, 8)}</code>.
    </Text>
  )
}
