import { Button, type ButtonProps } from '@mantine/core'
import { useEffect, useState } from 'react'

type CopyButtonProps = Pick<ButtonProps, 'size' | 'disabled'> & { text(): string }

const SAID_FOR_MS = 2_000
const WORDS = { waits: 'Copy', copied: 'Copied', refused: 'Not copied' } as const

/** Says what came of it for a moment: a browser may keep its clipboard to itself. */
export function CopyButton({ text, ...rest }: CopyButtonProps) {
  const [state, setState] = useState<keyof typeof WORDS>('waits')
  useEffect(() => {
    if (state === 'waits') return
    const timer = setTimeout(() => setState('waits'), SAID_FOR_MS)
    return () => clearTimeout(timer)
  }, [state])
  // Browsers give the clipboard only to pages that came over HTTPS or from this machine.
  if (!navigator.clipboard) return null
  const copy = () =>
    navigator.clipboard.writeText(text()).then(
      () => setState('copied'),
      () => setState('refused'),
    )
  return (
    <>
      <Button {...rest} variant="default" onClick={() => void copy()}>
        {WORDS[state]}
      </Button>
      <span className="hidden-words" role="status">
        {state === 'waits' ? '' : WORDS[state]}
      </span>
    </>
  )
}
