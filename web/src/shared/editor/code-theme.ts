// Colors of the code editor. light-dark() and the custom properties of the page reach into shadow roots.
import { HighlightStyle } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export const codeTheme = EditorView.theme({
  '&': {
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--mantine-color-default)',
    border: '1px solid var(--editor-border)',
    borderRadius: 'var(--mantine-radius-default)',
    fontSize: '13px',
  },
  '&.cm-focused': {
    outline: '2px solid var(--mantine-primary-color-filled)',
    outlineOffset: '-1px',
  },
  '.cm-scroller': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '20px',
    maxHeight: '28rem',
    overflow: 'auto',
  },
  '.cm-content': {
    minHeight: 'calc(var(--editor-lines) * 20px + 16px)',
    padding: '8px 0',
    caretColor: 'var(--mantine-color-text)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
  '.cm-line': { padding: '0 10px' },
  '.cm-gutters': {
    color: 'var(--mantine-color-dimmed)',
    backgroundColor: 'transparent',
    border: 'none',
    paddingLeft: '6px',
  },
  '.cm-gutters .cm-gutterElement': { color: 'var(--mantine-color-dimmed)' },
  '.cm-liquid': {
    color: 'light-dark(#6b21a8, #d8b4fe)',
    backgroundColor: 'light-dark(#f5effc, #2f2440)',
    borderRadius: '3px',
  },
  '.cm-liquid span': { color: 'inherit' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'light-dark(#dbe9f8, #24476a)' },
  '.cm-tooltip': {
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--mantine-color-body)',
    border: '1px solid var(--mantine-color-default-border)',
    borderRadius: 'var(--mantine-radius-default)',
    boxShadow: '0 4px 16px rgb(0 0 0 / 18%)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    maxHeight: '16rem',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    color: 'var(--mantine-color-text)',
    background: 'var(--selected)',
  },
  '.cm-completionDetail': { color: 'var(--mantine-color-dimmed)', fontStyle: 'normal' },
  '.cm-tooltip.cm-completionInfo': { padding: '6px 10px', maxWidth: '20rem', font: 'inherit' },
})

const KEYWORD = 'light-dark(#7a3e9d, #d2a8ff)'
const STRING = 'light-dark(#116329, #9ae6b4)'
const NUMBER = 'light-dark(#0b5ea8, #85c1ff)'
const NAME = 'light-dark(#9a3b00, #ffb38a)'
const COMMENT = 'light-dark(#5d5968, #aaa6b4)'

export const codeHighlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: KEYWORD },
  { tag: [tags.string, tags.special(tags.string)], color: STRING },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: NUMBER },
  { tag: [tags.propertyName, tags.definition(tags.variableName), tags.variableName], color: NAME },
  { tag: [tags.standard(tags.variableName), tags.attributeName, tags.meta], color: NUMBER },
  { tag: [tags.comment, tags.lineComment], color: COMMENT, fontStyle: 'italic' },
  { tag: tags.invalid, color: 'var(--mantine-color-error)' },
])
