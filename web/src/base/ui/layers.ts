// Dialogs above dialogs: Escape and a click outside close only the topmost one.
import { useEffect, useState } from 'react'

const layers: symbol[] = []

/** For what covers the page while it is open. Returns what tells whether nothing covers it in turn. */
export function useLayer(isOpen = true): () => boolean {
  const [layer] = useState(() => Symbol())
  useEffect(() => {
    if (!isOpen) return
    layers.push(layer)
    return () => void layers.splice(layers.indexOf(layer), 1)
  }, [isOpen, layer])
  return () => layers.at(-1) === layer
}
