// A chat message as Slack or Discord shows it, read from the request that creates or updates it. Pure.
export type ChatMessage = { title: string; color: string; fields: [label: string, value: string][] }

type SlackBody = {
  text?: string
  attachments?: { color?: string; blocks?: { fields?: { text: string }[] }[] }[]
}
type DiscordBody = {
  embeds?: { title?: string; color?: number; fields?: { name: string; value: string }[] }[]
}

/** Undefined for other presets, and while the body is none that these services take. */
export function chatMessage(kind: string | undefined, body: string | null): ChatMessage | undefined {
  try {
    if (kind === 'slack_message') return ofSlack(JSON.parse(body ?? ''))
    return kind === 'discord_message' ? ofDiscord(JSON.parse(body ?? '')) : undefined
  } catch {
    return undefined
  }
}

function ofSlack({ text = '', attachments = [] }: SlackBody): ChatMessage {
  const [attachment] = attachments
  const fields = attachment?.blocks?.flatMap((block) => block.fields ?? []) ?? []
  return {
    title: text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    color: attachment?.color ?? '#9e9e9e',
    fields: fields.map(({ text: line }) => {
      const [label = '', ...value] = line.split(': ')
      return [label, value.join(': ')]
    }),
  }
}

function ofDiscord({ embeds = [] }: DiscordBody): ChatMessage | undefined {
  const [embed] = embeds
  if (!embed) return undefined
  return {
    title: embed.title ?? '',
    color: `#${(embed.color ?? 0).toString(16).padStart(6, '0')}`,
    fields: embed.fields?.map(({ name, value }) => [name, value]) ?? [],
  }
}
