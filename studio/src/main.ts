import './app/theme.css';
import { mount } from 'svelte';
import App from './app/App.svelte';
import { settings } from './state/settings.svelte';
import { offerTexts } from './state/text.svelte';
import { TEXTS } from './text/files';

offerTexts(TEXTS);
settings.rule(document);
mount(App, { target: document.getElementById('app')! });
