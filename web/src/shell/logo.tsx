/** A gantry crane with its load. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#0b63b0" />
      <path
        d="M5 9.5h22M9 9.5v14.5M23 9.5v14.5M16 9.5v4.5"
        fill="none"
        stroke="#fff"
        strokeWidth="2.75"
        strokeLinecap="round"
      />
      <rect x="12.25" y="14" width="7.5" height="6.5" rx="1.5" fill="#fff" />
    </svg>
  )
}
