// The fonts of the system: no other site, and no font's license.
export { default } from 'vitepress/theme-without-fonts'
import './style.css'
