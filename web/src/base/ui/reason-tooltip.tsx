import './more-styles.ts'
import { Tooltip } from '@mantine/core'
import type { RefObject } from 'react'

type ReasonTooltipProps = { target: RefObject<HTMLElement | null>; children: string }

/** Why a button cannot be used, for as long as it is rendered. */
export default function ReasonTooltip({ target, children }: ReasonTooltipProps) {
  return <Tooltip target={target} label={children} opened multiline maw="20rem" />
}
